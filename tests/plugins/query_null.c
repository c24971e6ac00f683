// The query refuses with a reason.
#define STUB_NAME "query_null"
#define STUB_OWN_QUERY
#include "stub.h"

const tnp_plugin *tenon_plugin_query(uint32_t host_abi, tnp_error *err)
{
    (void)host_abi;
    tnp_error said = { sizeof said, TNP_E_VERSION, "this build is for Tuesdays" };
    TNP_GIVE(err, &said);
    return NULL;
}
