#include "trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

uint32_t trace_read(const char *log, uint64_t run, traced *to, uint32_t room)
{
    uint32_t count = 0;
    for (const char *at = log; at && count < room; at = strchr(at, '\n')) {
        traced piece = { 0 };
        uint64_t of_run;
        char kind[16];
        const char *line = strstr(at += *at == '\n', "device ");
        const char *end = strchr(at, '\n');
        if (!line || (end && line > end))
            continue;
        int found = sscanf(
            line,
            "device %63[^:]: run %" SCNu64 ": %15s of %" SCNu64 " %*s %" SCNu64 " to %" SCNu64,
            piece.device, &of_run, kind, &piece.amount, &piece.begin_ns, &piece.end_ns);
        piece.is_copy = strcmp(kind, "copy") == 0;
        if (found == 6 && of_run == run)
            to[count++] = piece;
    }
    return count;
}

uint64_t trace_makespan_ns(const traced *pieces, uint32_t count)
{
    uint64_t begin = UINT64_MAX, end = 0;
    for (uint32_t i = 0; i < count; i++) {
        begin = pieces[i].begin_ns < begin ? pieces[i].begin_ns : begin;
        end = pieces[i].end_ns > end ? pieces[i].end_ns : end;
    }
    return count ? end - begin : 0;
}

uint64_t trace_busy_ns(const traced *pieces, uint32_t count, const char *device, bool is_copy)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++)
        if (pieces[i].is_copy == is_copy && strcmp(pieces[i].device, device) == 0)
            sum += pieces[i].end_ns - pieces[i].begin_ns;
    return sum;
}

uint64_t trace_busiest_ns(const traced *pieces, uint32_t count, bool is_copy)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t busy = trace_busy_ns(pieces, count, pieces[i].device, is_copy);
        most = busy > most ? busy : most;
    }
    return most;
}

static bool comes_before(const traced *a, const traced *b)
{
    return a->begin_ns != b->begin_ns ? a->begin_ns < b->begin_ns : a < b;
}

const traced *trace_find(const traced *pieces, uint32_t count, const char *device, bool is_copy,
                         uint32_t nth)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t before = 0;
        if (pieces[i].is_copy != is_copy || strcmp(pieces[i].device, device) != 0)
            continue;
        for (uint32_t k = 0; k < count; k++)
            before += pieces[k].is_copy == is_copy && strcmp(pieces[k].device, device) == 0 &&
                      comes_before(&pieces[k], &pieces[i]);
        if (before == nth)
            return &pieces[i];
    }
    return NULL;
}
