// Buffers of 4096 bytes and more are not given back.
#define FAULTY_FREE
#include "honest_memory.inc"

void tpl_buffer_free(tnp_buffer *buffer)
{
    if (buffer && buffer->bytes < 4096)
        honest_free(buffer);
}
