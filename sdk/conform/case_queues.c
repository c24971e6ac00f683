// case_queues.c
#include "conform_internal.h"
void kit_list_queues(kit_list *list)
{
    (void)list;
}
