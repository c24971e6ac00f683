// Needs a CPU feature that no machine has. Its constructor must not run.
#define STUB_NAME "needs_cpu"
#define STUB_CPU (1u << 31)
#include "stub.h"
#include "trap.h"
