// Buffers of 4096 bytes and more are not given back.
#include "honest.inc"

static void faulty_buffer_free(tnp_buffer *buffer)
{
    if (buffer && buffer->head.bytes < 4096)
        tnh_buffer_free(buffer);
}

static void spoil(void)
{
    faulty.buffer_free = faulty_buffer_free;
}
