// Needs a host that does not exist yet. Its constructor must not run.
#define STUB_NAME "abi_newer"
#define STUB_NEEDED TNP_ABI(1, 999)
#include "stub.h"
#include "trap.h"
