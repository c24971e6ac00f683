#include "places.h"

#include <stdlib.h>

void test_places(void)
{
    unsetenv("TENON_PLUGIN_PATH");
    setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
    setenv("XDG_CACHE_HOME", TEST_CACHE, 1);
}

void test_places_without_cache(void)
{
    test_places();
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
}
