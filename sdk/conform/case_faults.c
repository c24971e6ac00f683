// case_faults.c
#include "conform_internal.h"
void kit_list_faults(kit_list *list)
{
    (void)list;
}
