// Cannot start, and says why in a text that is not fit for a terminal.
#include <tenon/plugin.h>

#define STUB_NAME "start_fails"
#define STUB_START fail_start
static tnp_status fail_start(const tnp_host *host, tnp_instance **out, tnp_error *err)
{
    (void)host, (void)out;
    tnp_error said = { sizeof said, TNP_E_IO, "no driver\x1b[2J\n at all \xff" };
    TNP_GIVE(err, &said);
    return TNP_E_IO;
}
#include "stub.h"
