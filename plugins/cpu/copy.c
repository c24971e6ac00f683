// copy.c: copies between buffers and host memory.
#include "copy.h"

// Bytes from the start of the first row to the end of the last.
static bool span_of(const tnp_copy *copy, uint64_t pitch, uint64_t *span)
{
    return cpu_mul(copy->rows - 1, pitch, span) && cpu_add(*span, copy->bytes, span);
}

// The address of one side in a buffer.
static tnp_status resolve(const cpu_device *device, tnp_buffer *handle, uint64_t offset,
                          uint64_t span, const char *side, cpu_buffer **buffer, tnp_error *err)
{
    uint64_t end;
    *buffer = cpu_buffer_from(handle);
    if (!*buffer || (*buffer)->device->instance != device->instance)
        return cpu_error(err, TNP_E_ARG, "copy: %s is not a buffer of this instance", side);
    if (!cpu_add(offset, span, &end) || end > (*buffer)->bytes)
        return cpu_error(err, TNP_E_ARG, "copy: %s: %llu bytes from %llu, the buffer has %llu",
                         side, (unsigned long long)span, (unsigned long long)offset,
                         (unsigned long long)(*buffer)->bytes);
    return TNP_OK;
}

tnp_status cpu_copy_read(const cpu_device *device, const tnp_copy *what, cpu_copy *out,
                         tnp_error *err)
{
    tnp_copy copy;
    uint64_t from_span, to_span;
    cpu_buffer *from = NULL, *to = NULL;
    tnp_status status = TNP_OK;

    if (!TNP_TAKE(&copy, what) || TNP_ALIEN(copy.flags, 0))
        return cpu_error(err, TNP_E_UNSUPPORTED, "copy: asks for what this plugin does not know");
    if (copy.bytes == 0 || copy.rows == 0)
        return cpu_error(err, TNP_E_ARG, "copy: %llu rows of %llu bytes; both must be at least 1",
                        (unsigned long long)copy.rows, (unsigned long long)copy.bytes);
    if (!span_of(&copy, copy.from_pitch, &from_span) || !span_of(&copy, copy.to_pitch, &to_span))
        return cpu_error(err, TNP_E_ARG,
                         "copy: %llu rows with these pitches pass the end of memory",
                         (unsigned long long)copy.rows);
    if (copy.from_buffer)
        status =
            resolve(device, copy.from_buffer, copy.from_offset, from_span, "source", &from, err);
    if (status == TNP_OK && copy.to_buffer)
        status = resolve(device, copy.to_buffer, copy.to_offset, to_span, "target", &to, err);
    if (status != TNP_OK)
        return status;
    if (to && to->is_read_only)
        return cpu_error(err, TNP_E_ARG, "copy: the target was imported to be read only");
    if (!to && !copy.to_host)
        return cpu_error(err, TNP_E_ARG, "copy: neither a buffer nor a host pointer to copy to");

    *out = (cpu_copy){
        .from = from ? from->data + copy.from_offset : copy.from_host,
        .to = to ? to->data + copy.to_offset : copy.to_host,
        .bytes = copy.bytes,
        .rows = copy.rows,
        .from_pitch = copy.from_pitch,
        .to_pitch = copy.to_pitch,
    };
    return TNP_OK;
}

void cpu_copy_run(const cpu_copy *copy)
{
    for (uint64_t row = 0; row < copy->rows; row++) {
        char *to = copy->to + row * copy->to_pitch;
        if (copy->from)
            memmove(to, copy->from + row * copy->from_pitch, copy->bytes);
        else
            memset(to, 0, copy->bytes);
    }
}
