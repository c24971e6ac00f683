// case_programs.c
#include "conform_internal.h"
void kit_list_programs(kit_list *list)
{
    (void)list;
}
