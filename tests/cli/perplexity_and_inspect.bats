#!/usr/bin/env bats
# tenon perplexity, tenon inspect
bats_require_minimum_version 1.5.0
load common

passage() { python3 -c 'import json,sys; open("text","w").write(json.load(open(sys.argv[1]))["nll"][0]["text"])' "$TENON_GOLDEN/austen-4m-q8_0.json"; }
near() { python3 -c 'import sys; a,b,c=map(float,sys.argv[1:]); sys.exit(abs(a-b)>c)' "$@"; }

@test "the likelihood of the golden passage" {
    passage
    want=$(python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))["nll"][0]["long"]["mean"])' "$TENON_GOLDEN/austen-4m-q8_0.json")
    run --separate-stderr tenon perplexity austen text --json --set plugin.cpu.activations=f32 --kv-type f32
    [ "$status" -eq 0 ]
    [ "$(json 'sorted(o)')" = "['nll', 'schema_version', 'tokens']" ]
    [ "$(json 'o["tokens"]')" = 239 ]
    near "$(json 'o["nll"]')" "$want" 1e-4
    run --separate-stderr tenon perplexity austen text --json
    near "$(json 'o["nll"]')" "$want" 0.02
}

@test "--max-tokens takes the first ids; a text longer than the context is cut into windows" {
    passage
    run --separate-stderr tenon perplexity austen text --json --max-tokens 100
    [ "$(json 'o["tokens"]')" = 99 ]
    run --separate-stderr tenon perplexity austen text --json --ctx 64
    [ "$status" -eq 0 ]
    [ "$(json 'o["tokens"]')" = 239 ]
    for size in 2 3 239 240 241; do
        run --separate-stderr tenon perplexity austen text --json --ctx "$size"
        [ "$status" -eq 0 ]
        [ "$(json 'o["tokens"]')" = 239 ]
    done
    fails_with 2 "--ctx 2" tenon perplexity austen text --ctx 1
}

@test "what cannot be measured is told" {
    fails_with 6 "No such file" tenon perplexity austen missing.txt
    : >empty
    fails_with 2 "has 1 token," tenon perplexity austen empty
    fails_with 2 "takes MODEL FILE" tenon perplexity austen
}

@test "inspect shows metadata, tensors and problems, as text and as JSON" {
    run --separate-stderr tenon inspect austen
    [ "$status" -eq 0 ]
    [[ $output == *"llama.block_count"*"blk.0.attn_q.weight"*"problems: 0"* ]]
    run --separate-stderr tenon inspect "$TENON_MODEL" --json
    [ "$status" -eq 0 ]
    [ "$(json 'len(o["tensors"]), len(o["metadata"]), o["problems"], o["file_bytes"]')" = "(38, 24, [], 3972416)" ]
    [ "$(json '[t["dims"] for t in o["tensors"] if t["name"] == "token_embd.weight"]')" = "[[256, 2048]]" ]
    fails_with 6 "No such file" tenon inspect missing.gguf
}
