// A plugin in C++: it throws in a static constructor and in its device_info. LETS_OUT 0: it catches
// what it throws; 1: an exception reaches the border, where nobody catches it.
#include <stdexcept>
#include <tenon/plugin.h>

static int caught()
{
    try {
        throw std::runtime_error("inside");
    } catch (const std::exception &) {
        return 1;
    }
}
static const int was_caught = caught();

#define STUB_DEVICE_INFO describe
static tnp_status describe(tnp_instance *, uint32_t index, tnp_device_info *info, tnp_error *)
{
    tnp_device_info own = {};
    own.size = sizeof own;
    own.id = index;
    own.kind = TNP_KIND_GPU;
    own.memory_count = 1;
    memcpy(own.name, "Thrower", 8);
    try {
        throw std::runtime_error("over the border");
    } catch (const std::exception &) {
        if (LETS_OUT || !was_caught)
            throw;
    }
    TNP_GIVE(info, &own);
    return TNP_OK;
}
#include "stub.h"
