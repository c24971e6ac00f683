// case_semaphores.c
#include "conform_internal.h"
void kit_list_semaphores(kit_list *list)
{
    (void)list;
}
