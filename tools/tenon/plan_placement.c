// plan_placement.c: which device got how many layers, and what the placement was chosen over.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"

typedef struct collecting {
    plan_report *report;
    bool is_short;   // of memory
} collecting;

static void collect(void *context, const tn_compared_placement *told)
{
    collecting *c = context;
    plan_report *r = c->report;
    size_t bytes = (r->compared_count + 1) * sizeof *r->compared;
    plan_compared *larger = c->is_short ? NULL : realloc(r->compared, bytes);
    c->is_short = !larger;
    if (!larger)
        return;
    r->compared = larger;
    char *name = strdup(told->name);
    r->compared[r->compared_count++] = (plan_compared){ told->outcome, told->times, name };
    c->is_short = !name;
}

int plan_find_placement(plan_report *r, const tn_session *session)
{
    collecting c = { .report = r };
    tn_error err = { 0 };
    r->placement.size = sizeof r->placement;
    tn_status status = tn_session_placement(session, &r->placement,
                                            &(tn_placement_sink){ &c, collect }, &err);
    if (c.is_short)
        return cli_fail(CLI_MEMORY, "not enough memory for the report of the plan");
    return status == TN_OK ? CLI_OK : cli_fail_status(&err);
}

void plan_drop_placement(plan_report *r)
{
    for (uint32_t i = 0; i < r->compared_count; i++)
        free(r->compared[i].name);
    free(r->compared);
}

static const char *outcome(uint32_t number)
{
    static const char *const names[] = { [TN_COMPARED_CHOSEN] = "chosen",
                                         [TN_COMPARED_DEARER] = "dearer",
                                         [TN_COMPARED_BOUND] = "bound",
                                         [TN_COMPARED_NO_ROOM] = "no room" };
    return number < sizeof names / sizeof *names && names[number] ? names[number] : "";
}

json_t *plan_placement(const plan_report *r)
{
    json_t *list = json_array();
    tn_error room;
    for (uint32_t i = 0; i < r->compared_count; i++)
        json_array_append_new(
            list, json_pack("{ss ss sf}", "name", plan_safe(r->compared[i].name, &room), "outcome",
                            outcome(r->compared[i].outcome), "times", r->compared[i].times));
    return json_pack("{si si sb so}", "layers", (int)r->placement.layer_count, "divided_layers",
                     (int)r->placement.divided_count, "by_memory", (int)r->placement.is_by_memory,
                     "compared", list);
}

json_t *plan_warnings(void)
{
    json_t *list = json_array();
    tn_error room;
    for (const char *at = cli_warnings(); *at;) {
        size_t length = strcspn(at, "\n");
        char line[sizeof room.text];
        snprintf(line, sizeof line, "%.*s", (int)length, at);
        json_array_append_new(list, json_string(plan_safe(line, &room)));
        at += length + (at[length] == '\n');
    }
    return list;
}

static void print_layers(const plan_report *r)
{
    bool is_any = false;
    for (uint32_t d = 0; d < r->device_count; d++) {
        if (!r->devices[d].layer_count)
            continue;
        printf("%s%" PRIu32 " on %s", is_any ? ", " : "layers: ", r->devices[d].layer_count,
               r->devices[d].name);
        is_any = true;
    }
    if (r->placement.divided_count)
        printf("%s%" PRIu32 " divided over devices",
               is_any ? ", " : "layers: ", r->placement.divided_count);
    puts("");
}

void plan_print_placement(const plan_report *r)
{
    tn_error room;
    if (r->device_count < 2 || !r->placement.layer_count)
        return;
    print_layers(r);
    if (r->placement.is_by_memory)
        puts("  by memory: what is fastest, or was asked for, does not fit what is free");
    uint32_t unlisted = 0;
    for (uint32_t i = 0; i < r->compared_count; i++) {
        const plan_compared *c = &r->compared[i];
        if (c->outcome == TN_COMPARED_BOUND || c->outcome == TN_COMPARED_NO_ROOM) {
            unlisted++;
            continue;
        }
        printf("  %s", i == 0 ? "chosen by what a prompt and new tokens cost: " : "over ");
        fputs(plan_safe(c->name, &room), stdout);
        if (i > 0)
            printf(": %.3f times as long", c->times);
        puts("");
    }
    if (unlisted)
        printf("  over %" PRIu32 " other%s: do%s not fit, or cannot be as fast\n", unlisted,
               cli_plural(unlisted), unlisted == 1 ? "es" : "");
}
