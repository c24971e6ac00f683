// case_threads.c
#include "conform_internal.h"
void kit_list_threads(kit_list *list)
{
    (void)list;
}
