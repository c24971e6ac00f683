// fault.c: calls that fail when they are told to, and what a lost device is.
#include "sim.h"

static const struct {
    const char *name;
    sim_call_kind kind;
} calls[SIM_CALL_COUNT] = {
#define CALL(name, kind) { #name, SIM_##kind },
    SIM_CALLS(CALL)
#undef CALL
};

const char *sim_call_name(sim_call call)
{
    return calls[call].name;
}

sim_call_kind sim_call_kind_of(sim_call call)
{
    return calls[call].kind;
}

sim_call sim_call_find(const char *name)
{
    sim_call call = 0;
    while (call < SIM_CALL_COUNT && strcmp(calls[call].name, name) != 0)
        call++;
    return call;
}

// Its semaphores fail; work that waits is let go when its turn comes.
static void lose(tnp_device *device)
{
    tnp_error why = { .size = sizeof why };
    (void)sim_fail_lost(device, &why);
    device->is_lost = true;
    for (tnp_semaphore *s = device->instance->semaphores; s; s = s->next)
        if (s->device == device)
            sim_doom(s, &why);
}

void sim_abandon(tnp_device *device)
{
    sim_enter_end(device, SIM_CALL_abandon);
    pthread_mutex_lock(&device->instance->lock);
    lose(device);
    sim_publish(device->instance);
}

static const sim_fault *find_fault(const sim_chip *chip, sim_call call)
{
    for (uint32_t i = 0; i < chip->spec.fault_count; i++)
        if (chip->spec.faults[i].call == call && chip->spec.faults[i].at == chip->calls[call])
            return &chip->spec.faults[i];
    return NULL;
}

tnp_status sim_enter_locked(tnp_instance *instance, sim_chip *chip, tnp_device *device,
                            sim_call call, const sim_fault **fired, tnp_error *err)
{
    char room[32];
    chip->calls[call]++;
    bool is_lost = device ? device->is_lost : chip->is_lost;
    *fired = NULL;
    if (is_lost && calls[call].kind == SIM_MAKES)
        return sim_fail(err, TNP_E_DEVICE_LOST, "%s: device %s is lost", calls[call].name,
                        sim_chip_name(instance, chip, room));
    *fired = find_fault(chip, call);
    if (!*fired)
        return TNP_OK;
    if ((*fired)->is_loss) {
        chip->is_lost = true;
        for (tnp_device *d = instance->devices; d; d = d->next)
            if (d->chip == chip)
                lose(d);
    }
    return sim_fail(err, (*fired)->status, "%s: call %llu of device %s fails, as it is told to%s",
                    calls[call].name, (unsigned long long)(*fired)->at,
                    sim_chip_name(instance, chip, room),
                    (*fired)->is_loss ? ": the device is lost" : "");
}

void sim_log_fault(const tnp_instance *instance, const sim_chip *chip, const sim_fault *fired)
{
    char room[32];
    if (fired)
        sim_log(instance, 2, "device %s: call %llu of %s fails now%s",
                sim_chip_name(instance, chip, room), (unsigned long long)fired->at,
                calls[fired->call].name, fired->is_loss ? ", the device is lost" : "");
}

tnp_status sim_enter(tnp_instance *instance, sim_chip *chip, tnp_device *device, sim_call call,
                     tnp_error *err)
{
    const sim_fault *fired;
    pthread_mutex_lock(&instance->lock);
    tnp_status status = sim_enter_locked(instance, chip, device, call, &fired, err);
    if (status == TNP_OK)
        pthread_mutex_unlock(&instance->lock);
    else
        sim_publish(instance);   // semaphores may have failed
    sim_log_fault(instance, chip, fired);
    return status;
}

void sim_enter_end(tnp_device *device, sim_call call)
{
    tnp_error nobody_reads = { .size = sizeof nobody_reads };
    (void)sim_enter(device->instance, device->chip, device, call, &nobody_reads);
}
