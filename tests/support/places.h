// places.h: where a test's runtimes look for plugins, configurations and what is kept: nothing of
// whoever runs the tests.
#ifndef TEST_PLACES_H
#define TEST_PLACES_H

// No TENON_PLUGIN_PATH, no user's tenon.ini; the cache is one of the build, which all tests share,
// so that each plugin is tried once.
void test_places(void);
// No cache at all, and so no warning that it cannot be written.
void test_places_without_cache(void);

#endif
