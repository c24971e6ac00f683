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

@test "--each: a line for each token, whose mean is the mean" {
    passage
    run --separate-stderr tenon perplexity austen text --max-tokens 40 --each
    [ "$status" -eq 0 ]
    [ "${#lines[@]}" -eq 40 ]
    tenon tokenize austen --json <text >ids
    python3 -c '
import json, sys
*each, summary = sys.stdin.read().splitlines()
ids, terms = zip(*(line.split() for line in each))
assert list(map(int, ids)) == json.load(open("ids"))["tokens"][1:40]
assert abs(sum(map(float, terms)) / 39 - float(summary.split()[2])) < 1e-5, summary
' <<<"$output"
    whole=$output
    run --separate-stderr tenon perplexity austen text --max-tokens 40 --each --json
    [ "$(json '"\n".join("%8d %.9g" % (e["id"], e["nll"]) for e in o["each"])')" = "${whole%$'\n'*}" ]
}

@test "SIGINT: what there is, and that it is not all" {
    yes "It is a truth universally acknowledged, that a single man is in want of a wife." | head -c 2000000 >long
    for json in "" --json; do
        run --separate-stderr bash -c '"$TENON" perplexity austen long -t 1 $0 & sleep 1; kill -INT $!; wait $!' "$json"
        [ "$status" -eq 130 ]
        [[ $stderr =~ ^"tenon: interrupted behind "([0-9]+)" of "[0-9]+" tokens"$ ]]
        count=${BASH_REMATCH[1]}
        if [ -n "$json" ]; then
            [ "$(json 'o["interrupted"], o["tokens"], (o["nll"] is None) == (o["tokens"] == 0)')" = "(True, $count, True)" ]
        elif [ "$count" -gt 0 ]; then
            [[ $output == "$count token"*" nats each"* ]]
        fi
    done
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
    fails_with 2 "FILE is an empty word" tenon perplexity austen ''
    fails_with 2 "MODEL is an empty word" tenon perplexity '' missing.txt
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

@test "inspect takes no memory for the elements of an array" {
    ! grep -q __asan_init "$TENON" || skip "sanitizer"
    python3 - <<'PY'
import struct
count, name = 2**20, b"many"
open("many.gguf", "wb").write(
    b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", len(name)) + name +
    struct.pack("<IIQ", 9, 0, count) + bytes(range(256)) * (count // 256))
PY
    for form in "" --json; do
        run bash -c "ulimit -v 40000; \"\$TENON\" inspect many.gguf $form 2>&1 >out"
        [ "$status" -eq 6 ]   # it is no model
        [ -z "$output" ]
    done
    python3 -c 'import json; assert json.load(open("out"))["metadata"][0]["value"] == list(range(256)) * 2**12'
    tenon inspect many.gguf >out || [ "$?" -eq 6 ]
    grep -q "many .* array *1048576 of u8: 0, 1, 2, 3, \.\.\.$" out
}

@test "inspect without memory for a text ends with 5" {
    ! grep -q __asan_init "$TENON" || skip "sanitizer"
    python3 - <<'PY'
import struct
count, name = 2**25, b"long"
open("long.gguf", "wb").write(
    b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", len(name)) + name +
    struct.pack("<IQ", 8, count) + b"a" * count)
PY
    for form in "" --json; do
        run bash -c "ulimit -v 90000; \"\$TENON\" inspect long.gguf $form 2>&1 >/dev/null"
        [ "$status" -eq 5 ]
        [[ $output == *"not enough memory for a report on long.gguf" ]]
    done
}
