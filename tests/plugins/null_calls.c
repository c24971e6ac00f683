// A call that is not optional is NULL.
#define STUB_NAME "null_calls"
#define STUB_CLAIM NULL
#include "stub.h"
