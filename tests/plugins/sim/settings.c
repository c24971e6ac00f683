// settings.c: the setting `devices`, a list in JSON (README.md), made into descriptions of devices.
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include "sim.h"

enum { SHOWN_BYTES = 40 };   // of a name that is not understood

static const uint64_t most_bytes = UINT64_C(1) << 48;
static const double most_number = 1e12;

// Where a value stands, for the message.
typedef struct place {
    tnp_instance *instance;
    uint32_t index;
    const char *name;   // of the device; NULL = not known
    const char *key;
    tnp_error *err;
} place;

// "setting devices: device 1 (b): alignment: must be ..."
__attribute__((format(printf, 2, 3))) static tnp_status refuse(const place *at, const char *format,
                                                               ...)
{
    char what[440];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return sim_fail(at->err, TNP_E_ARG, "setting devices: device %u%s%.*s%s%s%s: %s", at->index,
                    at->name ? " (" : "", SHOWN_BYTES, at->name ? at->name : "",
                    at->name ? ")" : "", at->key ? ": " : "", at->key ? at->key : "", what);
}

// ------------------------------------------------------------------------------------ plain values

static tnp_status read_flag(const place *at, const json_t *value, bool *out)
{
    if (!json_is_boolean(value))
        return refuse(at, "must be true or false");
    *out = json_is_true(value);
    return TNP_OK;
}

// Also 4e9, which JSON holds for a real number.
static tnp_status read_count(const place *at, const json_t *value, uint64_t least, uint64_t most,
                             uint64_t *out)
{
    double number = json_number_value(value);
    bool is_whole = json_is_integer(value) || (json_is_real(value) && number == floor(number));
    if (!is_whole || number < (double)least || number > (double)most)
        return refuse(at, "must be a whole number from %" PRIu64 " to %" PRIu64, least, most);
    *out = json_is_integer(value) ? (uint64_t)json_integer_value(value) : (uint64_t)number;
    return TNP_OK;
}

static tnp_status read_number(const place *at, const json_t *value, bool may_be_zero, double *out)
{
    double number = json_number_value(value);
    if (!json_is_number(value) || number < 0 || (number == 0 && !may_be_zero) ||
        number > most_number)
        return refuse(at, "must be a number %s and at most %g",
                      may_be_zero ? "of at least 0" : "above 0", most_number);
    *out = number;
    return TNP_OK;
}

// ------------------------------------------------------------------------------------------- words

typedef struct word {
    const char *text;
    uint32_t number;
} word;

static tnp_status read_word(const place *at, const json_t *value, const word *words, uint32_t count,
                            uint32_t *out)
{
    char known[300] = "";
    for (uint32_t i = 0; i < count; i++) {
        if (json_is_string(value) && strcmp(json_string_value(value), words[i].text) == 0) {
            *out = words[i].number;
            return TNP_OK;
        }
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", words[i].text);
    }
    return refuse(at, "must be one of %s", known);
}

static tnp_status read_kind(const place *at, const json_t *value, sim_spec *spec)
{
    static const word words[] = { { "cpu", TNP_KIND_CPU },
                                  { "gpu", TNP_KIND_GPU },
                                  { "integrated_gpu", TNP_KIND_INTEGRATED_GPU },
                                  { "accelerator", TNP_KIND_ACCELERATOR },
                                  { "software", TNP_KIND_SOFTWARE } };
    return read_word(at, value, words, sizeof words / sizeof words[0], &spec->kind);
}

static tnp_status read_order(const place *at, const json_t *value, sim_spec *spec)
{
    static const word words[] = { { "submitted", SIM_ORDER_SUBMITTED },
                                  { "late", SIM_ORDER_LATE },
                                  { "reverse", SIM_ORDER_REVERSE } };
    uint32_t order = 0;
    tnp_status status = read_word(at, value, words, sizeof words / sizeof words[0], &order);
    spec->order = (sim_order)order;
    return status;
}

static tnp_status read_name(const place *at, const json_t *value, sim_spec *spec)
{
    const char *text = json_is_string(value) ? json_string_value(value) : "";
    size_t length = strlen(text);
    if (length == 0 || length >= sizeof spec->name ||
        text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_-")])
        return refuse(at, "must be 1 to %zu of a-z, 0-9, _ and -", sizeof spec->name - 1);
    for (uint32_t i = 0; i < at->index; i++)
        if (strcmp(at->instance->chips[i].spec.name, text) == 0)
            return refuse(at, "%.*s is the name of device %u", SHOWN_BYTES, text, i);
    memcpy(spec->name, text, length + 1);
    return TNP_OK;
}

// Marks the numbers whose names are listed.
static tnp_status read_names(const place *at, const json_t *value, const char *(*name_of)(uint32_t),
                             uint32_t most, const char *what, bool *marks)
{
    size_t index;
    const json_t *item;
    if (!json_is_array(value))
        return refuse(at, "must be a list of %ss", what);
    json_array_foreach(value, index, item)
    {
        uint32_t number = 0;
        const char *text = json_string_value(item);
        for (; text && number < most; number++)
            if (name_of(number) && strcmp(name_of(number), text) == 0)
                break;
        if (!text || number == most)
            return refuse(at, "item %zu%s%.*s is no %s of the contract", index, text ? ", " : "",
                          SHOWN_BYTES, text ? text : "", what);
        marks[number] = true;
    }
    return TNP_OK;
}

static tnp_status read_except(const place *at, const json_t *value, sim_spec *spec)
{
    return read_names(at, value, sim_op_name, SIM_OPS, "op", spec->refuses_op);
}

static tnp_status read_only(const place *at, const json_t *value, sim_spec *spec)
{
    bool takes[SIM_OPS] = { false };
    tnp_status status = read_names(at, value, sim_op_name, SIM_OPS, "op", takes);
    for (uint32_t i = 0; i < SIM_OPS; i++)
        spec->refuses_op[i] |= !takes[i];
    return status;
}

// What only counts or points at something comes as I32: ids, positions, lengths. Any device has it.
static tnp_status read_dtypes(const place *at, const json_t *value, sim_spec *spec)
{
    bool takes[SIM_DTYPES] = { [TNP_DTYPE_I32] = true };
    tnp_status status = read_names(at, value, sim_dtype_name, SIM_DTYPES, "type", takes);
    for (uint32_t i = 0; i < SIM_DTYPES; i++)
        spec->refuses_dtype[i] = !takes[i];
    return status;
}

static tnp_status read_alignment(const place *at, const json_t *value, sim_spec *spec)
{
    tnp_status status = read_count(at, value, 32, 1 << 20, &spec->alignment);
    if (status == TNP_OK && (spec->alignment & (spec->alignment - 1)))
        return refuse(at, "must be a power of two");
    return status;
}

// ------------------------------------------------------------------------------------------ faults

static tnp_status read_status(const place *at, const json_t *value, sim_fault *fault)
{
    static const word words[] = {
        { "ARG", TNP_E_ARG },
        { "UNSUPPORTED", TNP_E_UNSUPPORTED },
        { "HOST_MEMORY", TNP_E_HOST_MEMORY },
        { "DEVICE_MEMORY", TNP_E_DEVICE_MEMORY },
        { "TIMEOUT", TNP_E_TIMEOUT },
        { "IO", TNP_E_IO },
        { "VERSION", TNP_E_VERSION },
        { "INTERNAL", TNP_E_INTERNAL },
        { "BUSY", TNP_E_BUSY },
        { "DATA", TNP_E_DATA },
        { "CANCELLED", TNP_E_CANCELLED },
        { "UNKNOWN", 4711 },   // to the contract
    };
    uint32_t number = 0;
    tnp_status status = read_word(at, value, words, sizeof words / sizeof words[0], &number);
    fault->status = (tnp_status)number;
    return status;
}

static tnp_status read_call(const place *at, const json_t *value, sim_fault *fault)
{
    char known[400] = "";
    const char *text = json_string_value(value);
    if (text)
        fault->call = sim_call_find(text);
    if (text && fault->call < SIM_CALL_COUNT)
        return TNP_OK;
    for (sim_call i = 0; i < SIM_CALL_COUNT; i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", sim_call_name(i));
    }
    return refuse(at, "must be one of %s", known);
}

static tnp_status read_hang(const place *at, const json_t *value, sim_fault *fault)
{
    fault->is_hang = json_is_true(value);
    return json_is_boolean(value) ? TNP_OK : read_count(at, value, 1, 60000, &fault->late_ms);
}

static tnp_status read_fault(place *at, const json_t *value, sim_fault *fault)
{
    const char *key;
    json_t *item;
    tnp_status status = TNP_OK;
    *fault = (sim_fault){ .call = SIM_CALL_COUNT, .at = 1 };
    at->key = "fail";
    if (!json_is_object(value))
        return refuse(at, "must be {\"call\": NAME, \"at\": K, \"lost\": true}, or a list of such");
    json_object_foreach((json_t *)value, key, item)
    {
        char where[SHOWN_BYTES + 8];
        snprintf(where, sizeof where, "fail.%.*s", SHOWN_BYTES, key);
        at->key = where;
        if (strcmp(key, "call") == 0)
            status = read_call(at, item, fault);
        else if (strcmp(key, "at") == 0)
            status = read_count(at, item, 1, INT64_MAX, &fault->at);
        else if (strcmp(key, "lost") == 0)
            status = read_flag(at, item, &fault->is_loss);
        else if (strcmp(key, "hang") == 0)
            status = read_hang(at, item, fault);
        else if (strcmp(key, "status") == 0)
            status = read_status(at, item, fault);
        else
            status = refuse(at, "is no key: there are call, at, lost, hang and status");
        at->key = "fail";
        if (status != TNP_OK)
            return status;
    }
    if (fault->call == SIM_CALL_COUNT)
        return refuse(at, "call is missing");
    if (!fault->is_loss && sim_call_kind_of(fault->call) == SIM_ENDS)
        return refuse(at, "%s has no answer: it can only lose the device, with \"lost\": true",
                      sim_call_name(fault->call));
    if ((fault->is_hang || fault->late_ms) &&
        (fault->call != SIM_CALL_work || fault->is_loss || fault->status != TNP_OK))
        return refuse(at, "\"hang\" is of work alone, which answers nothing and loses nothing");
    if (fault->is_loss && fault->status != TNP_OK)
        return refuse(at, "a device that is lost answers so, and no other status");
    if (fault->is_loss)
        fault->status = TNP_E_DEVICE_LOST;
    else if (fault->status == TNP_OK)
        fault->status = fault->call == SIM_CALL_buffer_alloc ? TNP_E_DEVICE_MEMORY : TNP_E_INTERNAL;
    return TNP_OK;
}

static tnp_status read_faults(const place *from, const json_t *value, sim_spec *spec)
{
    place at = *from;
    size_t count = json_is_array(value) ? json_array_size(value) : 1;
    tnp_status status = TNP_OK;
    if (count == 0)
        return TNP_OK;
    spec->faults = sim_make(at.instance, count * sizeof *spec->faults);
    if (!spec->faults)
        return sim_fail(at.err, TNP_E_HOST_MEMORY, "start: no memory for %zu faults", count);
    spec->fault_count = (uint32_t)count;
    for (size_t i = 0; i < count && status == TNP_OK; i++)
        status = read_fault(&at, json_is_array(value) ? json_array_get(value, i) : value,
                            &spec->faults[i]);
    return status;
}

// ----------------------------------------------------------------------------------------- devices

typedef enum key_type { FLAG, BYTES, NUMBER, NUMBER_OR_0, OWN } key_type;

static const struct {
    const char *name;
    key_type type;
    size_t offset;                                                              // in the spec
    tnp_status (*read)(const place *at, const json_t *value, sim_spec *spec);   // OWN
} keys[] = {
    { "name", OWN, 0, read_name },
    { "kind", OWN, 0, read_kind },
    { "memory_bytes", BYTES, offsetof(sim_spec, memory_bytes), NULL },
    { "max_alloc_bytes", BYTES, offsetof(sim_spec, max_alloc_bytes), NULL },
    { "alignment", OWN, 0, read_alignment },
    { "host_visible", FLAG, offsetof(sim_spec, is_host_visible), NULL },
    { "import", FLAG, offsetof(sim_spec, can_import), NULL },
    { "update_bytes", BYTES, offsetof(sim_spec, update_bytes), NULL },
    { "except", OWN, 0, read_except },
    { "only", OWN, 0, read_only },
    { "dtypes", OWN, 0, read_dtypes },
    { "max_elements", BYTES, offsetof(sim_spec, max_elements), NULL },
    { "gflops", NUMBER, offsetof(sim_spec, gflops), NULL },
    { "gbps", NUMBER, offsetof(sim_spec, gbps), NULL },
    { "link_gbps", NUMBER, offsetof(sim_spec, link_gbps), NULL },
    { "latency_us", NUMBER_OR_0, offsetof(sim_spec, latency_us), NULL },
    { "peer", FLAG, offsetof(sim_spec, is_peer), NULL },
    { "order", OWN, 0, read_order },
    { "trace", FLAG, offsetof(sim_spec, is_traced), NULL },
    { "fuse", FLAG, offsetof(sim_spec, is_fusing), NULL },
    { "fail", OWN, 0, read_faults },
};
enum { KEYS = sizeof keys / sizeof keys[0] };

static tnp_status refuse_key(const place *at, const char *key)
{
    char known[350] = "";
    for (size_t i = 0; i < KEYS; i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", keys[i].name);
    }
    return refuse(at, "'%.*s' is no key: there are %s", SHOWN_BYTES, key, known);
}

static tnp_status read_key(place *at, const char *key, const json_t *value, sim_spec *spec)
{
    for (size_t i = 0; i < KEYS; i++) {
        void *field = (char *)spec + keys[i].offset;
        if (strcmp(keys[i].name, key) != 0)
            continue;
        at->key = keys[i].name;
        switch (keys[i].type) {
        case FLAG:
            return read_flag(at, value, field);
        case BYTES:
            return read_count(at, value, 1, most_bytes, field);
        case NUMBER:
        case NUMBER_OR_0:
            return read_number(at, value, keys[i].type == NUMBER_OR_0, field);
        case OWN:
            return keys[i].read(at, value, spec);
        }
    }
    return refuse_key(at, key);
}

// A GPU behind a PCI Express slot that has much more of everything than a CPU.
static const sim_spec defaults = {
    .kind = TNP_KIND_GPU,
    .is_host_visible = true,
    .memory_bytes = UINT64_C(16) << 30,
    .alignment = SIM_ALIGNMENT,
    .update_bytes = 65536,
    .max_elements = UINT64_MAX,
    .gflops = 10000,
    .gbps = 1000,
    .link_gbps = 16,
    .latency_us = 10,
};

static tnp_status read_device(tnp_instance *instance, uint32_t index, const json_t *value,
                              tnp_error *err)
{
    const char *key;
    json_t *item;
    sim_spec *spec = &instance->chips[index].spec;
    place at = { instance, index, json_string_value(json_object_get(value, "name")), NULL, err };
    *spec = defaults;
    if (!json_is_object(value))
        return refuse(&at, "must be an object, as {\"name\": \"a\"}");
    json_object_foreach((json_t *)value, key, item)
    {
        at.key = NULL;
        tnp_status status = read_key(&at, key, item, spec);
        if (status != TNP_OK)
            return status;
    }
    at.key = "update_bytes";
    if (spec->update_bytes < 256 || spec->update_bytes > UINT32_MAX)
        return refuse(&at, "must be from 256 to %u", UINT32_MAX);
    if (spec->max_alloc_bytes == 0 || spec->max_alloc_bytes > spec->memory_bytes)
        spec->max_alloc_bytes = spec->memory_bytes;
    return TNP_OK;
}

static tnp_status read_devices(tnp_instance *instance, const json_t *value, tnp_error *err)
{
    if (!json_is_array(value))
        return sim_fail(err, TNP_E_ARG,
                        "setting devices: must be a list of objects, as [{\"name\": \"a\"}]");
    size_t count = json_array_size(value);
    if (count > UINT32_MAX / sizeof(sim_chip))
        return sim_fail(err, TNP_E_ARG, "setting devices: %zu devices are too many", count);
    if (count == 0)
        return TNP_OK;
    instance->chips = sim_make(instance, count * sizeof *instance->chips);
    if (!instance->chips)
        return sim_fail(err, TNP_E_HOST_MEMORY, "start: no memory for %zu devices", count);
    instance->chip_count = (uint32_t)count;
    tnp_status status = TNP_OK;
    for (uint32_t i = 0; i < count && status == TNP_OK; i++)
        status = read_device(instance, i, json_array_get(value, i), err);
    return status;
}

tnp_status sim_settings_read(tnp_instance *instance, tnp_error *err)
{
    const char *text = instance->host.setting(instance->host.context, "devices");
    json_error_t where;
    if (!text)
        return TNP_OK;
    json_t *value = json_loads(text, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &where);
    if (!value)
        return sim_fail(err, TNP_E_ARG, "setting devices: no JSON: character %d: %s",
                        where.position, where.text);
    tnp_status status = read_devices(instance, value, err);
    json_decref(value);
    return status;
}

void sim_settings_release(tnp_instance *instance)
{
    for (uint32_t i = 0; i < instance->chip_count; i++)
        sim_free(instance, instance->chips[i].spec.faults);
    sim_free(instance, instance->chips);
}
