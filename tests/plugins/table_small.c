// The table is smaller than that of the first release.
#define STUB_NAME "table_small"
#define STUB_TABLE_SIZE 64
#include "stub.h"
