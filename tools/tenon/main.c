// main.c: finds the subcommand.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "json.h"

static const cli_command *const commands[] = { &cli_run_command,        &cli_tokenize_command,
                                               &cli_perplexity_command, &cli_inspect_command,
                                               &cli_plan_command,       &cli_bench_command,
                                               &cli_devices_command,    &cli_plugins_command,
                                               &cli_tune_command,       &cli_conform_command };
enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

static int show_help(void)
{
    printf("usage: tenon COMMAND [options]\n\n");
    for (int i = 0; i < COMMAND_COUNT; i++)
        printf("  %-10s %s\n", commands[i]->name, commands[i]->summary);
    printf("\ntenon COMMAND --help tells more; tenon --version the version.\n\n"
           "Exit codes: 0 ok, 1 a check failed, 2 usage, 3 no such device or it cannot run the "
           "graph, 4 a named plugin is\n"
           "rejected, 5 out of memory, 6 a bad or missing file or an output that cannot be "
           "written, 7 a device failed\n"
           "or an internal error, 130 interrupted.\n\n"
           "Environment: TENON_PLUGIN_PATH (folders or files, separated by colons, searched for "
           "plugins), TENON_CPU_ISA\n"
           "(scalar, avx2, avx512vnni or neon: lowers the instruction set of the CPU plugin), "
           "XDG_CONFIG_HOME (where\n"
           "tenon/tenon.ini is), XDG_CACHE_HOME (where tenon/tune, tenon/plugins and\n"
           "tenon/packs are).\n");
    return cli_end_output();
}

int main(int argc, char **argv)
{
    const char *names[COMMAND_COUNT];
    const char *given = argc > 1 ? argv[1] : "";
    cli_json_begin();
    unsetenv("POSIXLY_CORRECT");   // options may stand behind words, as the help shows them
    signal(SIGXFSZ, SIG_IGN);   // a file beyond its limit is an error of that write, which is told
    char *help[] = { argc > 2 ? argv[2] : NULL, "--help", NULL };
    if (!strcmp(given, "help") && argc > 2) {   // tenon help COMMAND = tenon COMMAND --help
        given = argv[2];
        argv = help;
        argc = 2;
    } else if (argc > 0) {
        argv++;
        argc--;
    }
    if (!strcmp(given, "--help") || !strcmp(given, "-h") || !strcmp(given, "help"))
        return show_help();
    if (!strcmp(given, "--version")) {
        printf("tenon %s\n", tn_version());
        return cli_end_output();
    }
    for (int i = 0; i < COMMAND_COUNT; i++) {
        names[i] = commands[i]->name;
        if (!strcmp(given, names[i]))
            return commands[i]->run(argc, argv);
    }
    if (!*given)
        return cli_fail(CLI_USAGE, "no command is given, see tenon --help");
    const char *near = cli_nearest(given, names, COMMAND_COUNT);
    return near ? cli_fail(CLI_USAGE, "there is no command '%s'; did you mean '%s'?", given, near)
                : cli_fail(CLI_USAGE, "there is no command '%s', see tenon --help", given);
}
