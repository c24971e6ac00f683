// case_claims.c
#include "conform_internal.h"
void kit_list_claims(kit_list *list)
{
    (void)list;
}
