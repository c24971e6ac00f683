// plugin.c: the manifest, the table, and the one exported symbol.
#include "vulkan.h"

TNP_MANIFEST(TNP_MACHINE, TNP_OS_LINUX, 0, TNP_ABI(1, 0), "vulkan", VULKAN_PLUGIN_VERSION, "Tenon",
             "Apache-2.0");

static const tnp_plugin table = {
    .size = sizeof table,
    .abi = TNP_ABI_CURRENT,
    .note = &tnp_note_,
    .start = vulkan_start,
    .stop = vulkan_stop,
    .device_count = vulkan_device_count,
    .device_info = vulkan_device_info,
    .open = vulkan_open,
    .close = vulkan_close,
    .memory_info = vulkan_memory_info,
    .link = tnh_no_link,
    .buffer_alloc = vulkan_buffer_alloc,
    .buffer_import = vulkan_buffer_import,
    .buffer_map = vulkan_buffer_map,
    .buffer_free = vulkan_buffer_free,
    TNH_QUEUE_CALLS,
    .claim = vulkan_claim,
    .compile = vulkan_compile,
    .program_destroy = vulkan_program_destroy,
    .bind = vulkan_bind,
    .unbind = vulkan_unbind,
    .extension = tnh_no_extension,
};

const tnp_plugin *TNP_QUERY(uint32_t host_abi, tnp_error *err)
{
    return tnh_query(&table, host_abi, err);
}
