// cli.h: what the subcommands of `tenon` share. Data goes to stdout, everything else to stderr.
#ifndef CLI_H
#define CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tenon/tenon.h>

// Exit codes; the same for every subcommand.
enum {
    CLI_OK = 0,
    CLI_CHECK_FAILED = 1,
    CLI_USAGE = 2,
    CLI_NO_DEVICE = 3,   // no such device, or it cannot run the graph
    CLI_PLUGIN = 4,      // a named plugin is rejected
    CLI_MEMORY = 5,
    CLI_FILE = 6,     // a bad or missing file, or output that cannot be written
    CLI_FAILED = 7,   // a device failed, or an internal error
    CLI_INTERRUPTED = 130,
};

// ---------------------------------------------------------------------------------------- messages

// One line on stderr, "tenon: …"; answers `code`, so that a failing path is one line.
int cli_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
void cli_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
// All notes so far that begin with "warning: ", without that, a line each.
const char *cli_warnings(void);
bool cli_has_warned(const char *text);   // whether that is one of them
const char *cli_last_failure(void);      // the last line of cli_fail and its kin, "" = none; lent
// On a terminal: a line that the next one, or the next message, replaces; "" wipes it.
void cli_show(const char *format, ...) __attribute__((format(printf, 1, 2)));
int cli_fail_status(const tn_error *err);   // the message of an error, the exit code of its status
int cli_fail_model(const char *model, const tn_error *err);   // with the file's name in front
// Text of a model, to stdout and at once. A message begins a new line where such text stands on the
// terminal's line.
void cli_write_text(const char *text, size_t bytes);
const char *cli_plural(uint64_t count);   // "s", but "" for 1
int cli_end_output(void);                 // CLI_OK, or a line when stdout could not be written

double cli_now_ms(void);   // time that only goes forward

// ----------------------------------------------------------------------------------------- options

typedef enum cli_kind {
    CLI_FLAG,     // bool
    CLI_TEXT,     // const char *
    CLI_LIST,     // cli_list: may be given again and again
    CLI_NUMBER,   // int64_t within least … most
    CLI_REAL,     // double within least … most
} cli_kind;

typedef struct cli_list {
    const char **items;   // lent; room for as many as there are arguments
    const char **typed;   // by item: the option as it was typed; lies behind the items
    uint32_t count;
} cli_list;

typedef struct cli_option {
    const char *name;   // long, without the dashes
    char letter;        // 0 = none
    cli_kind kind;
    const char *argument;   // for the help, NULL for a flag
    size_t offset;          // of its field in the struct to fill
    double least, most;     // of numbers; 0x1p63 stands for what is just below it
    const char *help;       // {} in that of a number stands for its default
} cli_option;

// Options that every subcommand takes which starts the runtime.
typedef struct cli_common {
    cli_list plugins, settings;
    const char *config;
    int64_t threads;
    uint32_t flags;   // TN_RUNTIME_…, set by the subcommand
} cli_common;

// To stand first in the struct that a subcommand's options fill: all of them but the threads.
#define CLI_PLUGIN_OPTIONS                                                                         \
    { "plugin",                                                                                    \
      0,                                                                                           \
      CLI_LIST,                                                                                    \
      "PATH",                                                                                      \
      offsetof(cli_common, plugins),                                                               \
      0,                                                                                           \
      0,                                                                                           \
      "plugin file or folder, searched first; may be repeated" },                                  \
        { "set",                                                                                   \
          0,                                                                                       \
          CLI_LIST,                                                                                \
          "KEY=VALUE",                                                                             \
          offsetof(cli_common, settings),                                                          \
          0,                                                                                       \
          0,                                                                                       \
          "setting, such as plugin.cpu.activations=f32" },                                         \
    {                                                                                              \
        "config", 0, CLI_TEXT, "FILE", offsetof(cli_common, config), 0, 0,                         \
            "read this tenon.ini in place of the user's"                                           \
    }

#define CLI_COMMON_OPTIONS                                                                         \
    CLI_PLUGIN_OPTIONS,                                                                            \
    {                                                                                              \
        "threads", 't', CLI_NUMBER, "N", offsetof(cli_common, threads), 1, 1024,                   \
            "threads (default: the CPUs this process may use)"                                     \
    }

typedef struct cli_command {
    const char *name;
    const char *synopsis;   // behind "tenon NAME"
    const char *summary;    // one line
    const char *details;    // further lines of its help, or ""
    const cli_option *options;
    uint32_t option_count;
    int (*run)(int argc, char **argv);   // argv[0] is the subcommand's name
} cli_command;

extern const cli_command cli_run_command, cli_tokenize_command, cli_perplexity_command,
    cli_inspect_command, cli_plan_command, cli_bench_command, cli_devices_command,
    cli_plugins_command, cli_tune_command, cli_conform_command;

// Parses argv by the command's options into `fields` (zeroed or with defaults) and moves what is no
// option to the front of argv + 1. -1: go on; else the exit code: help was shown, or a line said
// what is wrong.
//   out_count   how many words are left; least … most are allowed
int cli_parse(const cli_command *command, int argc, char **argv, void *fields, int least, int most,
              int *out_count);

// An option of the command that was parsed as it was typed, "-ot", else by its whole name. Lent.
const char *cli_typed(const char *name);

// The word of a list nearest to `given`, or NULL when none is near.
const char *cli_nearest(const char *given, const char *const *words, uint32_t count);

// "MiB" of 60,000,000, and how many of these: *out_size = 57.2. KiB is the least.
const char *cli_unit(uint64_t bytes, double *out_size);

// Whole numbers from least, not below 0, to most, with commas or white space between them. CLI_OK,
// or the exit code after a line that names the option and what they are. *out_numbers: to be freed.
int cli_parse_numbers(const char *option, const char *what, const char *text, int32_t least,
                      int32_t most, int32_t **out_numbers, uint32_t *out_count);

// ----------------------------------------------------------------------------------------- runtime

void cli_common_finish(cli_common *common);   // frees the lists

// CLI_OK, or the exit code after a line. Warnings of the runtime go to stderr.
int cli_start(const cli_common *common, tn_runtime **out_runtime);

// The device of that name; where there is none a line says which there are. option: as it was
// typed.
int cli_find_device(tn_runtime *runtime, const char *option, const char *name,
                    tn_device **out_device);

// The devices that --device names, separated by commas: *out_devices is to be freed, NULL with
// count 0 when none is named.
int cli_find_devices(tn_runtime *runtime, const char *names, tn_device ***out_devices,
                     uint32_t *out_count);

// MODEL: a path, or "austen" for the model that comes with Tenon, found beside the build or the
// installed prefix, unless a file of that name is here. flags: TN_MODEL_…. From then on a mapped
// file that is cut while it is in use is a failure of cli_check_model, not the end of the process.
int cli_open_model(const char *name, uint32_t flags, tn_model **out_model);

// CLI_OK, or the exit code after a line: the model's files have changed since they were opened.
int cli_check_model(const tn_model *model);

// From now on SIGINT ends the process, with CLI_INTERRUPTED and no word: while nothing was printed.
void cli_end_at_interrupt(void);

// From now on SIGINT sets a mark, once; a second one ends the process. Also while results are
// printed: they come whole.
void cli_catch_interrupt(void);
bool cli_is_interrupted(void);

// Whether a word of the command line stands for standard input: none, or "-".
bool cli_is_stdin(const char *word);

// The whole of a file, or of standard input, byte for byte. *out_text is to be freed. Standard
// input, a device or a pipe may never end, so more than CLI_MOST_STREAM_BYTES of one is refused.
enum { CLI_MOST_STREAM_BYTES = 64 << 20 };
int cli_read_file(const char *path, char **out_text, size_t *out_bytes);
int cli_read_stdin(char **out_text, size_t *out_bytes);

#endif
