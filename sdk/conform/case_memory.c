// case_memory.c
#include "conform_internal.h"
void kit_list_memory(kit_list *list)
{
    (void)list;
}
