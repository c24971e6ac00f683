// case_file.c
#include "conform_internal.h"
void kit_list_file(kit_list *list)
{
    (void)list;
}
