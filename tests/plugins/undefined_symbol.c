// Calls a function that nobody has.
#include <tenon/plugin.h>

#define STUB_NAME "undefined_symbol"
#define STUB_STOP stop_elsewhere
extern void function_that_nobody_has(void);
static void stop_elsewhere(tnp_instance *instance)
{
    (void)instance;
    function_that_nobody_has();
}
#include "stub.h"
