// case_life.c
#include "conform_internal.h"
void kit_list_life(kit_list *list)
{
    (void)list;
}
