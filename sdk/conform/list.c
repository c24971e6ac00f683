// list.c: all cases there are, and which of them filters mean.
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>

#include "conform_internal.h"

void kit_list_add(kit_list *list, const kit_case *c)
{
    if (list->count == list->room) {
        uint32_t room = list->room ? 2 * list->room : 256;
        kit_case *more = realloc(list->cases, room * sizeof *more);
        if (!more) {
            list->is_short_of_memory = true;
            return;
        }
        list->cases = more;
        list->room = room;
    }
    list->cases[list->count++] = *c;
}

void kit_list_rows(kit_list *list, const char *theme, const kit_row *rows, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        kit_case c = { .run = rows[i].run };
        snprintf(c.name, sizeof c.name, "%s.%s", theme, rows[i].name);
        kit_list_add(list, &c);
    }
}

void kit_list_all(kit_list *list)
{
    kit_list_file(list);
    kit_list_life(list);
    kit_list_errors(list);
    kit_list_versions(list);
    kit_list_memory(list);
    kit_list_semaphores(list);
    kit_list_queues(list);
    kit_list_claims(list);
    kit_list_programs(list);
    kit_list_ops(list);
    kit_list_threads(list);
    kit_list_faults(list);
}

void kit_list_free(kit_list *list)
{
    kit_free_ops();
    free(list->cases);
    *list = (kit_list){ 0 };
}

int kit_fits(const char *filter, const char *name)
{
    size_t length = strlen(filter);
    if (strpbrk(filter, "*?"))
        return fnmatch(filter, name, 0) == 0;
    return !strncmp(filter, name, length) && (name[length] == 0 || name[length] == '.');
}

kit_status kit_choose(const char *const *filters, uint32_t filter_count, kit_list *out)
{
    uint32_t kept = 0;
    *out = (kit_list){ 0 };
    kit_list_all(out);
    if (out->is_short_of_memory)
        return KIT_NO_MEMORY;
    for (uint32_t i = 0; i < out->count; i++) {
        bool is_meant = filter_count == 0;
        for (uint32_t f = 0; f < filter_count; f++)
            is_meant |= kit_fits(filters[f], out->cases[i].name) != 0;
        if (is_meant)
            out->cases[kept++] = out->cases[i];
    }
    out->count = kept;
    return kept > 0 ? KIT_OK : KIT_NO_CASE;
}

kit_status kit_names(const char *const *filters, uint32_t filter_count,
                     void (*name)(void *context, const char *name), void *context)
{
    kit_list list;
    kit_status status = kit_choose(filters, filter_count, &list);
    for (uint32_t i = 0; i < list.count && status == KIT_OK; i++)
        name(context, list.cases[i].name);
    kit_list_free(&list);
    return status;
}
