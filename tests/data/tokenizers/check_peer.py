#!/usr/bin/env python3
"""Holds the ids beside this file to llama.cpp.

    check_peer.py SOURCES BUILD [MODEL ANSWERS]

SOURCES and BUILD as in ../peer.py.  Prints each text whose ids differ, for
every NAME.gguf and NAME.json here, or for the pair that is given; exits with 1
when there is one.
"""
import glob
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
from peer import build_program  # noqa: E402

# tokenize MODEL: reads lines "PARSE_SPECIAL HEX", prints lines of ids.
TOKENIZE = r"""
#include <llama.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 1 << 16 };

static char line[2 * MOST + 8], text[MOST];
static llama_token ids[MOST];

int main(int argc, char **argv)
{
    (void)argc;
    struct llama_model_params how = llama_model_default_params();
    how.vocab_only = true;
    struct llama_model *model = llama_model_load_from_file(argv[1], how);
    if (!model)
        return 1;
    while (fgets(line, sizeof line, stdin)) {
        int bytes = 0, is_parsed = line[0] == '1';
        unsigned byte;
        while (sscanf(line + 2 + 2 * bytes, "%2x", &byte) == 1)
            text[bytes++] = (char)byte;
        int count = llama_tokenize(llama_model_get_vocab(model), text, bytes, ids, MOST, true,
                                   is_parsed);
        for (int i = 0; i < count; i++)
            printf("%d ", ids[i]);
        printf("\n");
    }
    return 0;
}
"""


def main():
    if len(sys.argv) not in (3, 5):
        sys.exit(__doc__)
    pairs = [tuple(sys.argv[3:])] if len(sys.argv) == 5 else [
        (path, path[:-len("gguf")] + "json") for path in sorted(glob.glob(HERE + "/*.gguf"))]
    differences = 0
    with tempfile.TemporaryDirectory() as folder:
        program = build_program(sys.argv[1], sys.argv[2], folder, TOKENIZE)
        for model, answers in pairs:
            with open(answers, encoding="utf-8") as f:
                golden = json.load(f)
            cases = golden["tokenizer_cases"] + golden["prompts"]
            lines = [f"{int(c.get('parse_special', True))} {c['text'].encode().hex()}\n"
                     for c in cases]
            run = subprocess.run([program, model], input="".join(lines).encode(),
                                 capture_output=True, check=True)
            wrong = [(case, ids) for case, ids in zip(cases, run.stdout.decode().splitlines())
                     if [int(i) for i in ids.split()] != case["ids"]]
            for case, ids in wrong:
                print(f"    {case['text']!r} special {case['parse_special']}\n"
                      f"        here {case['ids']}\n        peer [{ids.strip()}]")
            print(f"{os.path.basename(model)}: {len(wrong)} of {len(cases)} differ")
            differences += len(wrong)
    sys.exit(differences > 0)


if __name__ == "__main__":
    main()
