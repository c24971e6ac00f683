// case_versions.c
#include "conform_internal.h"
void kit_list_versions(kit_list *list)
{
    (void)list;
}
