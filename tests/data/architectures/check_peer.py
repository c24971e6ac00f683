#!/usr/bin/env python3
"""Holds the answers beside this file to llama.cpp.

    check_peer.py SOURCES BUILD

SOURCES and BUILD as in ../peer.py.  Needs what that and make.py need.

Each NAME.gguf is evaluated twice: as it is, where llama.cpp rounds what meets
an F16 matrix to half precision, and as a copy with F32 matrices of the same
numbers.  KV cache F32, no flash attention, one thread.  Prints the largest
distances from NAME.json, in units as in ../golden/README.md; exits with 1
when one is beyond tolerance B.
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

import make

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
from peer import build_program  # noqa: E402

# evaluate MODEL IDS...: logits F32 after each id, on stdout. The models have no
# tokenizer, which llama.cpp wants to be told.
EVALUATE = r"""
#include <llama.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    int count = argc - 2;
    struct llama_model_kv_override overrides[2] = { { .tag = LLAMA_KV_OVERRIDE_TYPE_STR } };
    strcpy(overrides[0].key, "tokenizer.ggml.model");
    strcpy(overrides[0].val_str, "none");
    struct llama_model_params how = llama_model_default_params();
    how.kv_overrides = overrides;
    struct llama_model *model = llama_model_load_from_file(argv[1], how);
    if (!model)
        return 1;
    int vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(model));

    struct llama_context_params to = llama_context_default_params();
    to.n_ctx = to.n_batch = to.n_ubatch = 128;
    to.n_threads = to.n_threads_batch = 1;
    to.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
    to.type_k = to.type_v = GGML_TYPE_F32;
    struct llama_context *context = llama_init_from_model(model, to);
    if (!context)
        return 1;

    struct llama_batch batch = llama_batch_init(count, 0, 1);
    batch.n_tokens = count;
    for (int i = 0; i < count; i++) {
        batch.token[i] = atoi(argv[i + 2]);
        batch.pos[i] = i;
        batch.n_seq_id[i] = 1;
        batch.seq_id[i][0] = 0;
        batch.logits[i] = 1;
    }
    if (llama_decode(context, batch) != 0)
        return 1;
    for (int i = 0; i < count; i++)
        fwrite(llama_get_logits_ith(context, i), sizeof(float), (size_t)vocabulary, stdout);
    return 0;
}
"""


def evaluate(program, path, ids):
    """Logits (tokens, vocabulary), or None and a line when llama.cpp refuses the model."""
    run = subprocess.run([program, path] + [str(i) for i in ids], capture_output=True)
    if run.returncode != 0:
        errors = [line for line in run.stderr.decode().splitlines() if "error" in line]
        print(f"    not taken: {(errors or ['no message'])[0]}")
        return None
    return np.frombuffer(run.stdout, np.float32).reshape(len(ids), -1)


def top_distance(logits, last):
    return np.abs(logits[last["top_ids"]] - last["top_logits"]).max() / last["std"]


def distances(program, path, golden):
    """The four largest distances; None when the model is refused."""
    top, gap = [], []
    for prompt in golden["prompts"]:
        ids, steps, last = prompt["ids"], prompt["greedy"], prompt["last"]
        logits = evaluate(program, path, ids + steps["ids"])
        if logits is None:
            return None
        top.append(top_distance(logits[len(ids) - 1], last))
        for row, first, second, wanted in zip(logits[len(ids) - 1:], steps["ids"],
                                              steps["second_ids"], steps["gaps"]):
            gap.append(abs(row[first] - row[second] - wanted) / last["std"])
    passage = golden["nll"][0]
    logits = evaluate(program, path, passage["ids"])
    top.append(top_distance(logits[-1], passage["last"]))
    nll = make.token_nll(logits, passage["ids"]) - passage["per_token"]
    return max(top), max(gap), abs(nll.mean()), np.abs(nll).max()


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    # Top-10 logits, gaps of greedy steps, mean NLL, NLL of a token.
    bounds = (0.02, 0.02, 1e-3, 0.03)
    is_beyond = False
    with tempfile.TemporaryDirectory() as folder:
        program = build_program(sys.argv[1], sys.argv[2], folder, EVALUATE)
        for name, m in make.MODELS.items():
            with open(os.path.join(HERE, name + ".json"), encoding="utf-8") as f:
                golden = json.load(f)
            copy = os.path.join(folder, name + ".gguf")
            make.write_model(m, copy, matrices=np.float32)
            for label, path in (("F16", os.path.join(HERE, name + ".gguf")), ("F32", copy)):
                print(f"{name} {label}")
                found = distances(program, path, golden)
                if found is None:
                    continue
                print("    top-10 %.7f  gap %.7f  mean NLL %.7f  NLL of a token %.7f" % found)
                if not all(value <= bound for value, bound in zip(found, bounds)):
                    print("    beyond tolerance B")
                    is_beyond = True
    sys.exit(is_beyond)


if __name__ == "__main__":
    main()
