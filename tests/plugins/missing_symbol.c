// Has a manifest, and exports nothing.
#define STUB_NAME "missing_symbol"
#define STUB_OWN_QUERY
#include "stub.h"

__attribute__((visibility("default"))) const tnp_plugin *wrong_name(void);
const tnp_plugin *wrong_name(void) { return &stub_table; }
