// options.c: one table of options gives the parser and the help.
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "placement.h"

enum { MAX_OPTIONS = 64, FIRST_LONG = 256, HELP_LEFT = 29, HELP_RIGHT = 120 };

// The command that is parsed, and of each of its options how it was typed last; "" = it was not.
static const cli_command *parsed;
static struct {
    char whole[32], letter[4];
    const char *last;
} spelled[MAX_OPTIONS];

// The option of a word of the command line, in a text that stays. Other words for it are kept.
static const char *spell(uint32_t index, const char *word)
{
    const cli_option *option = &parsed->options[index];
    snprintf(spelled[index].whole, sizeof spelled[index].whole, "--%s", option->name);
    snprintf(spelled[index].letter, sizeof spelled[index].letter, "-%c", option->letter);
    const char *brief = cli_short_word(word);
    return brief ? brief : word[1] != '-' ? spelled[index].letter : spelled[index].whole;
}

const char *cli_typed(const char *name)
{
    for (uint32_t i = 0; parsed && i < parsed->option_count; i++)
        if (strcmp(parsed->options[i].name, name) == 0)
            return spelled[i].last ? spelled[i].last : spell(i, "--");
    return name;
}

// From column HELP_LEFT on, in lines of HELP_RIGHT columns at most.
static void print_wrapped(const char *text)
{
    int column = HELP_LEFT;
    for (const char *word = text; *word; word += strspn(word, " ")) {
        int length = (int)strcspn(word, " ");
        bool is_first = word == text;
        if (!is_first && column + 1 + length > HELP_RIGHT) {
            printf("\n%*s", HELP_LEFT, "");
            column = HELP_LEFT;
        } else if (!is_first) {
            putchar(' ');
            column++;
        }
        printf("%.*s", length, word);
        column += length;
        word += length;
    }
    putchar('\n');
}

static void print_text(const cli_option *option, const void *defaults)
{
    const char *field = (const char *)defaults + option->offset, *at = strstr(option->help, "{}");
    char text[512], value[32] = "";
    if (at)
        snprintf(value, sizeof value, "%g",
                 option->kind == CLI_NUMBER ? (double)*(const int64_t *)(const void *)field
                                            : *(const double *)(const void *)field);
    snprintf(text, sizeof text, "%.*s%s%s", at ? (int)(at - option->help) : 0, option->help, value,
             at ? at + 2 : option->help);
    const char *brief = cli_brief_word(option->name);
    size_t used = strlen(text);
    if (brief)
        snprintf(text + used, sizeof text - used, " (%s)", brief);
    print_wrapped(text);
}

static int show_help(const cli_command *command, const void *defaults)
{
    printf("usage: tenon %s %s\n\n%s.\n%s%s\n", command->name, command->synopsis, command->summary,
           *command->details ? "\n" : "", command->details);
    for (uint32_t i = 0; i < command->option_count; i++) {
        const cli_option *option = &command->options[i];
        char left[64], letter[4] = "";
        if (option->letter)
            snprintf(letter, sizeof letter, "-%c,", option->letter);
        snprintf(left, sizeof left, "%3s --%s%s%s", letter, option->name,
                 option->argument ? " " : "", option->argument ? option->argument : "");
        bool is_long = strlen(left) > HELP_LEFT - 3;
        printf("  %-*s", HELP_LEFT - 3, left);
        printf(is_long ? "\n%*s" : "%*s", is_long ? HELP_LEFT : 1, "");
        print_text(option, defaults);
    }
    printf("  %-*s %s\n", HELP_LEFT - 3, "-h, --help", "this text");
    return cli_end_output();
}

// The locale never matters: the program does not call setlocale.
static int read_number(const cli_option *option, const char *text, double *out_real,
                       int64_t *out_whole)
{
    char *end;
    errno = 0;
    *out_real = strtod(text, &end);
    bool is_read = end != text && !*end && isfinite(*out_real);
    if (option->kind == CLI_NUMBER && is_read) {
        *out_whole = strtoll(text, &end, 10);
        is_read = !*end && errno == 0;
    }
    if (is_read && *out_real >= option->least && *out_real <= option->most)
        return CLI_OK;
    char range[80];
    if (option->kind == CLI_NUMBER)
        snprintf(range, sizeof range, "a whole number from %.0f to %" PRId64, option->least,
                 option->most < 0x1p63 ? (int64_t)option->most : INT64_MAX);
    else
        snprintf(range, sizeof range, "a number from %g to %g", option->least, option->most);
    return cli_fail(CLI_USAGE, "%s '%s': %s is expected", cli_typed(option->name), text, range);
}

static int add(const cli_option *option, const char *text, cli_list *list, int argc)
{
    if (!list->items && !(list->items = calloc(2 * (size_t)argc, sizeof *list->items)))
        return cli_fail(CLI_MEMORY, "not enough memory for the options");
    list->typed = list->items + argc;
    list->typed[list->count] = cli_typed(option->name);
    list->items[list->count++] = text;
    return CLI_OK;
}

static int store(const cli_option *option, const char *text, void *fields, int argc)
{
    char *field = (char *)fields + option->offset;
    double real;
    int64_t whole;
    int code = CLI_OK;
    switch (option->kind) {
    case CLI_FLAG:
        *(bool *)field = true;
        break;
    case CLI_TEXT:
        *(const char **)field = text;
        break;
    case CLI_LIST:
        return add(option, text, (cli_list *)field, argc);
    case CLI_NUMBER:
        if ((code = read_number(option, text, &real, &whole)) == CLI_OK)
            *(int64_t *)field = whole;
        break;
    case CLI_REAL:
        if ((code = read_number(option, text, &real, &whole)) == CLI_OK)
            *(double *)field = real;
        break;
    }
    return code;
}

// What the command takes may begin with a dash: then it stands behind "--".
static const char *hint_of_dashes(const cli_command *command, const char *word)
{
    bool takes_text = strstr(command->synopsis, "[PROMPT]") || strstr(command->synopsis, "[TEXT]");
    bool may_be_text = word[1] != '-' || strchr(word, ' ');
    return takes_text && may_be_text ? "; put -- before text that begins with -" : "";
}

// Options of other programs, and what stands for them here: an option, or a word of its own.
static const struct {
    const char *name, *option, *word;
} habits[] = {
    { "m", NULL, "MODEL" },       { "model", NULL, "MODEL" },
    { "p", NULL, "PROMPT" },      { "c", "ctx", NULL },
    { "prompt", NULL, "PROMPT" }, { "cache-type-k", "kv-type", NULL },
    { "s", "seed", NULL },        { "n-predict", "max-tokens", NULL },
    { "ctk", "kv-type", NULL },   { "cache-type-v", "kv-type", NULL },
    { "ctv", "kv-type", NULL },
};

// CLI_OK: it is no such word of this command.
static int fail_habit(const cli_command *command, const char *word, const char *given)
{
    for (size_t i = 0; i < sizeof habits / sizeof *habits; i++) {
        if (strcmp(given, habits[i].name) != 0)
            continue;
        for (uint32_t o = 0; o < command->option_count && habits[i].option; o++)
            if (strcmp(command->options[o].name, habits[i].option) == 0)
                return cli_fail(CLI_USAGE, "%s: there is no option '%s'; did you mean '--%s'?",
                                command->name, word, habits[i].option);
        if (habits[i].word && strstr(command->synopsis, habits[i].word))
            return cli_fail(CLI_USAGE,
                            "%s: there is no option '%s': %s is a word of its own, tenon %s %s",
                            command->name, word, habits[i].word, command->name, command->synopsis);
    }
    return CLI_OK;
}

static int fail_unknown(const cli_command *command, const char *word)
{
    const char *names[MAX_OPTIONS], *near = NULL;
    for (uint32_t i = 0; i < command->option_count; i++)
        names[i] = command->options[i].name;
    char given[64];
    snprintf(given, sizeof given, "%s", word + strspn(word, "-"));
    given[strcspn(given, "=")] = 0;
    int code = fail_habit(command, word, given);
    if (code != CLI_OK)
        return code;
    // --temperature for --temp, --ctx-size for --ctx, --max for --max-tokens
    for (uint32_t i = 0; i < command->option_count && !near && strlen(given) > 1; i++)
        if (strncmp(given, names[i], strlen(names[i])) == 0 ||
            strncmp(given, names[i], strlen(given)) == 0)
            near = names[i];
    if (!near)
        near = cli_nearest(given, names, command->option_count);
    return near ? cli_fail(CLI_USAGE, "%s: there is no option '%s'; did you mean '--%s'?%s",
                           command->name, word, near, hint_of_dashes(command, word))
                : cli_fail(CLI_USAGE, "%s: there is no option '%s', see tenon %s --help%s",
                           command->name, word, command->name, hint_of_dashes(command, word));
}

// The word that getopt reads next, which it may find behind others.
static const char *next_word(int argc, char **argv)
{
    for (int i = optind ? optind : 1; i < argc; i++)
        if (argv[i][0] == '-' && argv[i][1])
            return argv[i];
    return "";
}

// A letter with more behind it that is no value, or the beginning of a name.
static bool is_unknown(const cli_option *option, const char *word)
{
    if (word[1] != '-')
        return !option && word[2];   // -help
    size_t length = strcspn(word + 2, "=");
    const char *name = option ? option->name : "help";
    return strlen(name) != length || strncmp(word + 2, name, length) != 0;
}

static bool asks_for_help(int argc, char **argv, const char *shorts, const struct option *longs)
{
    bool asks = false;
    while (!asks) {
        const char *word = next_word(argc, argv);
        int c = getopt_long(argc, argv, shorts, longs, NULL);
        if (c == -1 || c == ':' || c == '?')
            break;
        asks = c == 'h' && !is_unknown(NULL, word);
    }
    optind = 0;   // from the beginning
    return asks;
}

int cli_parse(const cli_command *command, int argc, char **argv, void *fields, int least, int most,
              int *out_count)
{
    struct option longs[MAX_OPTIONS + 2] = { { "help", no_argument, NULL, 'h' } };
    char shorts[2 * MAX_OPTIONS + 4] = ":h";
    size_t used = 2;
    for (uint32_t i = 0; i < command->option_count; i++) {
        const cli_option *option = &command->options[i];
        longs[i + 1] = (struct option){ option->name,
                                        option->argument ? required_argument : no_argument, NULL,
                                        FIRST_LONG + (int)i };
        if (option->letter) {
            shorts[used++] = option->letter;
            if (option->argument)
                shorts[used++] = ':';
        }
    }
    shorts[used] = 0;
    opterr = 0;
    parsed = command;
    cli_expand_short_words(command, argc, argv);
    // The help shows the defaults, so it comes before the options fill the fields.
    if (asks_for_help(argc, argv, shorts, longs))
        return show_help(command, fields);
    for (;;) {
        const char *word = next_word(argc, argv);
        int c = getopt_long(argc, argv, shorts, longs, NULL);
        if (c == -1)
            break;
        const cli_option *option = NULL;
        for (uint32_t i = 0; i < command->option_count && !option; i++)
            if (c == FIRST_LONG + (int)i || c == command->options[i].letter)
                option = &command->options[i];
        if (c == ':')
            return cli_fail(CLI_USAGE, "%s: option '%s' needs a value", command->name, word);
        if (c == '?' || is_unknown(option, word))
            return fail_unknown(command, word);
        uint32_t index = (uint32_t)(option - command->options);
        spelled[index].last = spell(index, word);
        int code = store(option, optarg, fields, argc);
        if (code != CLI_OK)
            return code;
    }
    int count = argc - optind;
    if (count > most)
        return cli_fail(CLI_USAGE, "%s: '%s' is one word too many: it takes %s", command->name,
                        argv[optind + most], command->synopsis);
    if (count < least)
        return cli_fail(CLI_USAGE, "%s takes %s, see tenon %s --help", command->name,
                        command->synopsis, command->name);
    for (int i = 0; i < count; i++)
        argv[1 + i] = argv[optind + i];
    *out_count = count;
    return -1;
}
