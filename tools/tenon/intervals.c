// intervals.c: see intervals.h.
#include "intervals.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOWER, UPPER, SIZE, ID, COLUMNS };   // numbers first
enum { FIRST_ROWS = 64, SHOWN_BYTES = 40, NAME_BYTES = 200, TEXT_BYTES = 256 };

static const char *const column_names[COLUMNS] = { "lower", "upper", "size", "id" };

typedef struct span {
    const char *at, *end;
} span;

typedef struct reader {
    const char *name;
    span rest;            // of the file
    size_t line;          // counted from 1
    int order[COLUMNS];   // which column each field is
    int columns;          // that the first line names
    uint64_t sum;         // of sizes
    size_t room;
    cli_intervals out;
    tn_error *err;
} reader;

static tn_status fail(const reader *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static tn_status fail(const reader *r, const char *format, ...)
{
    char text[TEXT_BYTES], message[NAME_BYTES + TEXT_BYTES + 32];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    snprintf(message, sizeof message, "%.*s:%zu: %s", NAME_BYTES, r->name, r->line, text);
    return tn_error_set(r->err, TN_E_FILE, message);
}

// ----------------------------------------------------------------------------------- lines, fields

static int shown(span field)   // for %.*s
{
    return field.end - field.at < SHOWN_BYTES ? (int)(field.end - field.at) : SHOWN_BYTES;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static span trim(span text)
{
    while (text.at < text.end && is_blank(*text.at))
        text.at++;
    while (text.at < text.end && is_blank(text.end[-1]))
        text.end--;
    return text;
}

// Cuts off what stands before the next `border`, or all of it. false: nothing is left.
static bool next(span *rest, char border, span *out)
{
    if (!rest->at)
        return false;
    const char *found = memchr(rest->at, border, (size_t)(rest->end - rest->at));
    *out = trim((span){ rest->at, found ? found : rest->end });
    rest->at = found ? found + 1 : NULL;
    return true;
}

// The next line that is not empty.
static bool next_line(reader *r, span *out)
{
    do {
        r->line++;
        if (!next(&r->rest, '\n', out))
            return false;
    } while (out->at == out->end);
    return true;
}

static bool read_digits(span digits, uint64_t *out)
{
    uint64_t value = 0;
    bool is_read = digits.at < digits.end;
    for (; digits.at < digits.end && is_read; digits.at++)
        is_read = *digits.at >= '0' && *digits.at <= '9' &&
                  !__builtin_mul_overflow(value, 10, &value) &&
                  !__builtin_add_overflow(value, (uint64_t)(*digits.at - '0'), &value);
    *out = value;
    return is_read;
}

static bool read_whole(span text, int64_t *out)
{
    uint64_t value;
    bool is_negative = text.at < text.end && *text.at == '-';
    text.at += is_negative;
    if (!read_digits(text, &value) || value > (uint64_t)INT64_MAX + is_negative)
        return false;
    *out = (int64_t)(is_negative ? 0 - value : value);
    return true;
}

// Behind what is wrong with a line that has some.
static const char *about_quotes(span line)
{
    return memchr(line.at, '"', (size_t)(line.end - line.at)) ? "; quotes are not understood" : "";
}

// -------------------------------------------------------------------------------------------- rows

static tn_status read_header(reader *r)
{
    bool is_there[COLUMNS] = { false };
    span line, rest, field;
    if (!next_line(r, &line)) {
        r->line = 1;
        return fail(r, "the file is empty; a line 'lower,upper,size' and a line for each "
                       "interval are expected");
    }
    rest = line;
    while (next(&rest, ',', &field)) {
        int column = 0;
        size_t length = (size_t)(field.end - field.at);
        while (column < COLUMNS && (strlen(column_names[column]) != length ||
                                    memcmp(column_names[column], field.at, length) != 0))
            column++;
        if (column == COLUMNS)
            return fail(r,
                        "'%.*s' is no column; the first line names lower, upper, size and, if "
                        "wanted, id%s",
                        shown(field), field.at, about_quotes(line));
        if (is_there[column])
            return fail(r, "the column '%s' is there twice", column_names[column]);
        is_there[column] = true;
        r->order[r->columns++] = column;
    }
    for (int column = 0; column < ID; column++)
        if (!is_there[column])
            return fail(r,
                        "the column '%s' is missing; the first line names lower, upper, size and, "
                        "if wanted, id",
                        column_names[column]);
    return TN_OK;
}

static tn_status read_row(reader *r, span line, tn_plan_interval *out)
{
    int64_t numbers[ID];
    span field, rest = line;
    int count = 0;
    for (; next(&rest, ',', &field); count++) {
        int column = count < r->columns ? r->order[count] : ID;
        if (column != ID && !read_whole(field, &numbers[column]))
            return fail(r, "%s '%.*s' is no whole number from %s to %" PRId64 "%s",
                        column_names[column], shown(field), field.at,
                        column == SIZE ? "0" : "-9223372036854775808", INT64_MAX,
                        about_quotes(line));
    }
    if (count != r->columns)
        return fail(r, "%d field%s, %d are expected: as many as there are columns%s", count,
                    count == 1 ? "" : "s", r->columns, about_quotes(line));
    if (numbers[SIZE] < 0)
        return fail(r, "size %" PRId64 " is below 0", numbers[SIZE]);
    if (numbers[LOWER] >= numbers[UPPER])
        return fail(r,
                    "lower %" PRId64 " is not below upper %" PRId64
                    ": an interval is live from lower up to, not at, upper",
                    numbers[LOWER], numbers[UPPER]);
    r->sum += (uint64_t)numbers[SIZE];
    if (r->sum > INT64_MAX)
        return fail(r, "the sizes up to here are together more than %" PRId64 " bytes", INT64_MAX);
    *out = (tn_plan_interval){ numbers[LOWER], numbers[UPPER], (uint64_t)numbers[SIZE] };
    return TN_OK;
}

static tn_status add_row(reader *r, span line)
{
    if (r->out.count == TN_PLAN_MOST_INTERVALS)
        return fail(r, "more than %d intervals", TN_PLAN_MOST_INTERVALS);
    if (r->out.count == r->room) {
        size_t room = r->room ? 2 * r->room : FIRST_ROWS;
        tn_plan_interval *larger = realloc(r->out.items, room * sizeof *larger);
        if (!larger)
            return tn_error_set(r->err, TN_E_HOST_MEMORY, "not enough memory for the intervals");
        r->out.items = larger;
        r->room = room;
    }
    tn_status status = read_row(r, line, &r->out.items[r->out.count]);
    r->out.count += status == TN_OK;
    return status;
}

static tn_status check_bytes(reader *r, const char *text, size_t bytes)
{
    const char *zero = bytes ? memchr(text, 0, bytes) : NULL;
    if (!zero)
        return TN_OK;
    r->line = 1;
    for (const char *at = text; (at = memchr(at, '\n', (size_t)(zero - at))); at++)
        r->line++;
    return fail(r, "a byte that is 0: the file is no text; lines of lower, upper and size are "
                   "expected");
}

tn_status cli_intervals_read(const char *name, const char *text, size_t bytes,
                             cli_intervals *out_intervals, tn_error *err)
{
    static const char mark[] = "\xef\xbb\xbf";
    size_t skipped = bytes >= sizeof mark - 1 && memcmp(text, mark, sizeof mark - 1) == 0
                         ? sizeof mark - 1
                         : 0;
    reader r = { .name = name, .err = err };
    span line;
    *out_intervals = (cli_intervals){ 0 };
    if (bytes > skipped)
        r.rest = (span){ text + skipped, text + bytes };
    tn_status status = check_bytes(&r, text, bytes);
    if (status == TN_OK)
        status = read_header(&r);
    while (status == TN_OK && next_line(&r, &line))
        status = add_row(&r, line);
    if (status == TN_OK)
        *out_intervals = r.out;
    else
        free(r.out.items);
    return status;
}

void cli_intervals_free(cli_intervals *intervals)
{
    free(intervals->items);
    *intervals = (cli_intervals){ 0 };
}
