// Binds programs of a device that is lost.
#include "honest.inc"

static tnp_status faulty_bind(tnp_program *program, const tnp_bind *what, tnp_bound **out,
                              tnp_error *err)
{
    tnh_device *device = tnh_of(program->device);
    pthread_mutex_lock(&device->lock);
    int is_lost = device->is_lost;
    device->is_lost = 0;
    pthread_mutex_unlock(&device->lock);
    tnp_status status = bind(program, what, out, err);
    pthread_mutex_lock(&device->lock);
    device->is_lost = is_lost;
    pthread_mutex_unlock(&device->lock);
    return status;
}

static void spoil(void)
{
    faulty.bind = faulty_bind;
}
