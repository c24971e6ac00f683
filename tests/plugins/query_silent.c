// The query refuses without a word.
#define STUB_NAME "query_silent"
#define STUB_OWN_QUERY
#include "stub.h"

const tnp_plugin *tenon_plugin_query(uint32_t host_abi, tnp_error *err)
{
    (void)host_abi, (void)err;
    return NULL;
}
