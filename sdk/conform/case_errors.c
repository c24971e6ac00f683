// case_errors.c
#include "conform_internal.h"
void kit_list_errors(kit_list *list)
{
    (void)list;
}
