// The table is of another ABI than the manifest.
#define STUB_NAME "table_other_abi"
#define STUB_ABI TNP_ABI(1, 7)
#include "stub.h"
