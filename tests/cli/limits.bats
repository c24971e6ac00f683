#!/usr/bin/env bats
# tenon run at the ends of context and memory.
bats_require_minimum_version 1.5.0
load common

# A sanitizer takes terabytes of address space for itself.
needs_plain_build() { ! grep -q __asan_init "$TENON" || skip "sanitizer"; }

# patch_key NAME VALUE FILE: the embedded model with another value of a U32 key.
patch_key() {
    python3 - "$TENON_MODEL" "$@" <<'PY'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
at = data.index(sys.argv[2].encode()) + len(sys.argv[2]) + 4
data[at:at + 4] = int(sys.argv[3]).to_bytes(4, "little")
open(sys.argv[4], "wb").write(data)
PY
}

make_long() { patch_key llama.context_length $((2**30)) long.gguf; }

@test "every size of context works or says what would" {
    run --separate-stderr tenon run austen --tokens 0 -n 3 --ctx 0 --greedy --json
    [ "$status" -eq 0 ]
    [ "$(json 'o["finish_reason"], len(o["tokens"])')" = "('length', 3)" ]
    run --separate-stderr tenon run austen --tokens 0 -n 3 --ctx 1 --greedy --json
    [ "$status" -eq 0 ]
    [ "$(json 'o["finish_reason"], len(o["tokens"])')" = "('context', 1)" ]
    [[ $stderr == *"the context of 1 token is full: --ctx takes more"* ]]
    fails_with 2 "the prompt has 2 tokens, the context holds 1: use --ctx 2 or more" tenon run austen --tokens 0,1 --ctx 1 -n 1
    fails_with 2 "100000000 tokens asked, but the model is made for at most 256" tenon run austen --tokens 0 --ctx 100000000
    fails_with 2 "from 0 to 1073741824" tenon run austen --tokens 0 --ctx 100000000000000000000
    fails_with 2 "from 0 to 1073741824" tenon run austen --tokens 0 --ctx -1
}

@test "the end of the context ends the text, for every type of KV cache" {
    for type in f32 f16 q8_0; do
        run --separate-stderr tenon run austen "She was" -n 100 --ctx 20 --greedy --ignore-eos --kv-type $type --json
        [ "$status" -eq 0 ]
        [[ $stderr == *"context of 20 tokens is full"* ]]
        [ "$(json 'o["finish_reason"], len(o["prompt_tokens"]) + len(o["tokens"])')" = "('context', 21)" ]
    done
}

@test "why the text ended is told" {
    run --separate-stderr tenon run austen She -n 2 --greedy --json
    [ "$(json 'o["finish_reason"]')" = length ]
    patch_key tokenizer.ggml.eos_token_id 314 ends.gguf   # the third token that comes
    run --separate-stderr tenon run ends.gguf "It is a truth universally acknowledged, that" -n 9 --greedy --json
    [ "$(json 'o["finish_reason"], o["tokens"]')" = "('stop', [321, 364])" ]
}

@test "any limit of address space: it runs, or one line and exit code 5" {
    needs_plain_build
    ran=0 refused=0
    for ((kib = 9000; kib <= 60000; kib += 1500)); do
        run --separate-stderr bash -c "ulimit -v $kib && exec \"\$TENON\" run austen 'She was' -n 2 --greedy -t 2"
        case $status in
        0) ran=$((ran + 1)) ;;
        5) refused=$((refused + 1)); [ "${#stderr_lines[@]}" -eq 1 ] || { echo "$kib: $stderr" >&2; false; } ;;
        *) echo "$kib KiB: exit code $status: $stderr" >&2; false ;;
        esac
    done
    [ $ran -gt 0 ] && [ $refused -gt 0 ]
}

@test "states that a limit of address space cannot hold are refused with the numbers" {
    needs_plain_build
    make_long
    run --separate-stderr bash -c 'ulimit -v 200000; "$TENON" run long.gguf a -t 2 --ctx 200000'
    [ "$status" -eq 5 ]
    [[ $stderr =~ "cpu0: "([0-9]+)" bytes are needed for weights, states and the arena ("[^\)]*"), "([0-9]+)" are free" ]]
    [ "${BASH_REMATCH[1]}" -gt 200000000 ]
    [ "${BASH_REMATCH[2]}" -lt 204800000 ]
}

@test "a model larger than the limit of address space is refused with its size" {
    needs_plain_build
    truncate -s 300M large.gguf
    dd if="$TENON_MODEL" of=large.gguf conv=notrunc status=none
    run --separate-stderr bash -c 'ulimit -v 200000; "$TENON" run large.gguf a'
    [ "$status" -eq 5 ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ $stderr == *"large.gguf: cannot be mapped (314572800 bytes): Cannot allocate memory" ]]
}

@test "several processes run one file at the same time" {
    tenon run austen "She was at" -n 20 --greedy >want
    for i in 1 2 3; do tenon run austen "She was at" -n 20 --greedy >"got$i" & done
    wait
    for i in 1 2 3; do cmp "got$i" want; done
}

@test "several processes share one prompt cache" {
    tenon run austen "She was at" -n 4 --greedy >want
    for i in 1 2 3 4; do tenon run austen "She was at" -n 4 --greedy --prompt-cache cache >"got$i" 2>"err$i" & done
    wait
    for i in 1 2 3 4; do cmp "got$i" want; ! grep -q warning "err$i"; done
    run --separate-stderr tenon run austen "She was at" -n 4 --greedy --prompt-cache cache
    [[ $stderr == *"of 4 tokens" ]]
    [ -z "$(ls -A | grep '^cache\.')" ]
}
