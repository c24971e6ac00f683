// Is linked with a library that is not there when it is loaded.
#include <tenon/plugin.h>

#define STUB_NAME "missing_library"
#define STUB_STOP stop_elsewhere
extern int function_of_missing_library(void);
static void stop_elsewhere(tnp_instance *instance)
{
    (void)instance;
    (void)function_of_missing_library();
}
#include "stub.h"
