// The table shows no manifest.
#define STUB_NAME "table_no_note"
#define STUB_NOTE NULL
#include "stub.h"
