// Built for ABI 2.0. Its constructor must not run.
#include <tenon/plugin.h>

#define STUB_NAME "abi_other_major"
#define STUB_OWN_NOTE
TNP_NOTE_PLACE static const tnp_note tnp_note_ = { 6,
                                                   sizeof(tnp_manifest),
                                                   1,
                                                   "Tenon",
                                                   { .size = sizeof(tnp_manifest),
                                                     .abi = TNP_ABI(2, 0),
                                                     .abi_needed = TNP_ABI(2, 0),
#if defined(__x86_64__)
                                                     .machine = 62,
#else
                                                     .machine = 183,
#endif
                                                     .os = TNP_OS_LINUX,
                                                     .name = STUB_NAME,
                                                     .version = "2.0" } };
#include "stub.h"
#include "trap.h"
