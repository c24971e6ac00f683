// boundaries.c: why a segment begins where it does, in words.
#include <math.h>

#include "base/error.h"
#include "base/macros.h"
#include "exec/explain.h"

const char *tni_time_text(double ns, char *text, size_t room)
{
    double size = fabs(ns);
    if (size < 1e3)
        tni_format_text(text, room, "%.0f ns", ns);
    else if (size < 1e6)
        tni_format_text(text, room, "%.3f us", ns / 1e3);
    else
        tni_format_text(text, room, "%.3f ms", ns / 1e6);
    return text;
}

const char *tn_begins_name(uint32_t why)
{
    static const char *const names[] = {
        [TN_BEGINS_FIRST] = "first",     [TN_BEGINS_UNSUPPORTED] = "unsupported",
        [TN_BEGINS_STATE] = "state",     [TN_BEGINS_COST] = "cost",
        [TN_BEGINS_ORDER] = "order",     [TN_BEGINS_PIN] = "pin",
        [TN_BEGINS_LAYER] = "layer",     [TN_BEGINS_MEMORY] = "memory",
        [TN_BEGINS_OVERLAP] = "overlap",
    };
    return why < TN_COUNT_OF(names) && names[why] ? names[why] : "";
}

static void say_cost(const tn_session *session, const tni_boundary *b, const char *name, char *text,
                     size_t room)
{
    char here[24], there[24], more[24];
    const char *before = session->lanes[b->before].device->name;
    tni_time_text(b->move.here_ns, here, sizeof here);
    tni_time_text(b->move.there_ns, there, sizeof there);
    tni_time_text(b->move.more_ns, more, sizeof more);
    if (b->why == TN_BEGINS_COST)
        tni_format_text(text, room,
                        "'%s' takes %s here and %s on %s; with its copies the "
                        "whole would cost %s more",
                        name, here, there, before, more);
    else
        tni_format_text(text, room,
                        "'%s' takes %s here and %s on %s; the whole would cost "
                        "no more",
                        name, here, there, before);
}

static void say_layer(const tni_node *node, const char *here, char *text, size_t room)
{
    if (node->mark.layer == TN_NO_LAYER)
        tni_format_text(text, room, "'%s' belongs to the layers on %s", node->name, here);
    else
        tni_format_text(text, room, "layer %u, with '%s', was given to %s", node->mark.layer,
                        node->name, here);
}

void tni_boundary_text(const tn_session *session, const tni_compiled *compiled,
                       const tni_offers *offers, uint32_t segment, char *text, size_t room)
{
    const tn_graph *graph = compiled->schedule.graph;
    tni_boundary b = tni_boundary_of(offers, segment);
    const tni_node *node = &graph->nodes[b.node];
    const char *here = session->lanes[compiled->schedule.segments[segment].place].device->name;
    const char *before = session->lanes[b.before].device->name;
    const char *refusal;
    char words[TNI_REASON_BYTES], plain[TNI_REASON_BYTES];
    switch (b.why) {
    case TN_BEGINS_FIRST:
        tni_format_text(words, sizeof words, "the graph begins");
        break;
    case TN_BEGINS_OVERLAP:
        tni_format_text(words, sizeof words,
                        "divided at '%s', so that another device can work meanwhile", node->name);
        break;
    case TN_BEGINS_UNSUPPORTED:
        refusal = tni_refusal_of(offers, b.node, b.before);
        tni_format_text(words, sizeof words,
                        refusal ? "%s refused %s '%s': %s" : "%s made no claim on %s '%s' alone",
                        before, tni_op_find(node->op)->name, node->name, refusal);
        break;
    case TN_BEGINS_PIN:
        tni_format_text(words, sizeof words, "'%s', or what it touches, is pinned to %s",
                        node->name, here);
        break;
    case TN_BEGINS_LAYER:
        say_layer(node, here, words, sizeof words);
        break;
    case TN_BEGINS_MEMORY:
        if (b.is_roomless)
            tni_format_text(words, sizeof words, "there is no room for '%s' on %s", node->name,
                            before);
        else
            tni_format_text(words, sizeof words,
                            "a weight of '%s' is on %s already, and memory is short", node->name,
                            here);
        break;
    case TN_BEGINS_STATE:
        tni_format_text(words, sizeof words, "'%s' touches '%s', which lives on %s", node->name,
                        graph->values[graph->storages[b.move.tied].owner].name, here);
        break;
    default:
        say_cost(session, &b, node->name, words, sizeof words);
    }
    tni_format_text(plain, sizeof plain, "%s: %s", tn_begins_name(b.why), words);
    tni_text_make_safe(text, room, plain, sizeof plain);   // names may come from a file
}
