// loader.c: the system's Vulkan loader, opened once in the life of the process and never closed: a
// driver's library that is unloaded while its threads end takes the process with it.
#define VOLK_IMPLEMENTATION
#include "vulkan.h"

#include "loader.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_open, has_calls;

bool vulkan_loader_open(void)
{
    pthread_mutex_lock(&lock);
    if (!is_open)
        is_open = volkInitialize() == VK_SUCCESS;
    pthread_mutex_unlock(&lock);
    return is_open;
}

// The calls of an instance are the loader's own, and the same for every instance: they look at the
// object that they get. So they are written once.
void vulkan_loader_add_calls(VkInstance instance)
{
    pthread_mutex_lock(&lock);
    if (!has_calls)
        volkLoadInstanceOnly(instance);
    has_calls = true;
    pthread_mutex_unlock(&lock);
}
