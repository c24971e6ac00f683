// tokenize.c: tenon tokenize
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/lm.h>

#include "cli.h"

typedef struct tokenize_options {
    const char *pre;
    bool no_special, json;
} tokenize_options;

static const cli_option options[] = {
    { "pre", 0, CLI_TEXT, "NAME", offsetof(tokenize_options, pre), 0, 0,
      "pre-tokenizer, when the file does not name it or names it wrongly" },
    { "no-special", 0, CLI_FLAG, NULL, offsetof(tokenize_options, no_special), 0, 0,
      "text that looks like a special token is text" },
    { "json", 0, CLI_FLAG, NULL, offsetof(tokenize_options, json), 0, 0, "print JSON" },
};

static int print_ids(const int32_t *ids, uint32_t count, bool as_json)
{
    if (as_json)
        printf("{\"schema_version\":1,\"tokens\":[");
    for (uint32_t i = 0; i < count; i++)
        printf("%s%d", i ? as_json ? "," : " " : "", ids[i]);
    puts(as_json ? "]}" : "");
    return cli_end_output();
}

static int tokenize(const char *name, const tn_model *model, const char *text, size_t bytes,
                    const tokenize_options *given)
{
    tn_error err = { 0 };
    tlm_tokenizer *tokenizer = NULL;
    int32_t *ids = NULL;
    uint32_t count = 0;
    tn_status status = tlm_tokenizer_create(
        model, &(tlm_tokenizer_options){ .size = sizeof(tlm_tokenizer_options), .pre = given->pre },
        &tokenizer, &err);
    if (status == TN_OK && *tlm_tokenizer_warning(tokenizer))
        cli_note("warning: %s: %s", name, tlm_tokenizer_warning(tokenizer));
    if (status == TN_OK)
        status = tlm_tokenize(tokenizer, text, bytes, given->no_special ? TLM_TEXT_PLAIN : 0, &ids,
                              &count, &err);
    int code = cli_check_model(model);
    if (code == CLI_OK)
        code = status == TN_OK ? print_ids(ids, count, given->json) : cli_fail_model(name, &err);
    tlm_ids_free(tokenizer, ids);
    tlm_tokenizer_destroy(tokenizer);
    return code;
}

static int run(int argc, char **argv)
{
    tokenize_options given = { 0 };
    tn_model *model = NULL;
    char *from_stdin = NULL;
    const char *text = NULL;
    size_t bytes = 0;
    int count, code = cli_parse(&cli_tokenize_command, argc, argv, &given, 1, 2, &count);
    if (code >= 0)
        return code;
    if (count == 2 && !cli_is_stdin(argv[2])) {
        text = argv[2];
        bytes = strlen(text);
        code = CLI_OK;
    } else {
        code = cli_read_stdin(&from_stdin, &bytes);
        text = from_stdin;
    }
    if (code == CLI_OK)
        code = cli_open_model(argv[1], 0, &model);
    if (code == CLI_OK)
        code = tokenize(argv[1], model, text, bytes, &given);
    tn_model_close(model);
    free(from_stdin);
    return code;
}

const cli_command cli_tokenize_command = {
    "tokenize",
    "MODEL [TEXT] [options]",
    "Prints the token ids of a text, or of standard input byte for byte",
    "BOS is added as the model's metadata says. TEXT - is standard input too.\n",
    options,
    sizeof options / sizeof *options,
    run,
};
