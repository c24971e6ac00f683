#!/usr/bin/env bats
# tenon run --prompt-cache FILE: what is used again, and which files are left alone.
bats_require_minimum_version 1.5.0
load common

PROMPT="It is a truth universally acknowledged, that"   # 14 tokens

ask() { run --separate-stderr tenon run austen "$1" -n 8 --greedy --json --prompt-cache cache "${@:2}"; [ "$status" -eq 0 ]; }

@test "the second run reads the prompt from the file and gives the same" {
    tenon run austen "$PROMPT" -n 8 --greedy --json >plain
    ask "$PROMPT"
    [ -z "$stderr" ]
    [ "$(json 'o["reused_tokens"]')" = 0 ]
    first=$(json 'o["tokens"], o["top_logits"]')
    cp cache before
    ask "$PROMPT"
    [ "$stderr" = "tenon: prompt cache: 13 of 14 tokens" ]
    [ "$(json 'o["reused_tokens"]')" = 13 ]
    [ "$(json 'o["tokens"], o["top_logits"]')" = "$first" ]
    [ "$(json 'json.load(open("plain"))["tokens"] == o["tokens"]')" = True ]
    cmp cache before
}

@test "a prompt that goes on takes the whole, one that turns off the common beginning" {
    ask "$PROMPT"
    ask "$PROMPT a single man"
    [ "$(json 'o["reused_tokens"]')" = 14 ]
    ask "$PROMPT a single man"
    [ "$(json 'o["reused_tokens"] == len(o["prompt_tokens"]) - 1')" = True ]
    tenon run austen "It is a pity" -n 8 --greedy >want
    run --separate-stderr tenon run austen "It is a pity" -n 8 --greedy --prompt-cache cache
    [ "$output" = "$(cat want)" ]
    [[ $stderr == *"prompt cache: 4 of "* ]]
    ask "It is a pity"
    [ "$(json 'o["reused_tokens"] == len(o["prompt_tokens"]) - 1')" = True ]
}

@test "a shorter prompt leaves the longer one in the file" {
    ask "$PROMPT"
    cp cache before
    ask "It is a truth"
    [ "$(json 'o["reused_tokens"] == len(o["prompt_tokens"]) - 1')" = True ]
    cmp cache before
}

@test "samplers see the whole prompt" {
    tenon run austen "$PROMPT" -n 20 --greedy --repeat-penalty 1.5 >want
    for i in 1 2; do
        tenon run austen "$PROMPT" -n 20 --greedy --repeat-penalty 1.5 --prompt-cache cache 2>/dev/null >got
        cmp got want
    done
}

@test "the file is as large as the prompt, and for its owner alone" {
    ask "$PROMPT"
    [ "$(stat -c %a cache)" = 600 ]
    [ "$(stat -c %s cache)" -lt 40000 ]
    [ "$(echo cache*)" = cache ]
}

@test "a cache of another model, size or type, or a damaged one, is warned of and written anew" {
    for other in "--ctx 100" "--kv-type f32"; do
        tenon run austen "$PROMPT" -n 1 $other --greedy --prompt-cache cache 2>/dev/null
        ask "$PROMPT"
        [ "${#stderr_lines[@]}" -eq 1 ]
        [[ $stderr == "tenon: warning: cache: is of another model, or of another size or type of KV cache"*"written anew" ]]
        [ "$(json 'o["reused_tokens"]')" = 0 ]
        ask "$PROMPT"
        [ "$(json 'o["reused_tokens"]')" = 13 ]
    done
    truncate -s -1 cache
    ask "$PROMPT"
    [[ $stderr == *"the snapshot is damaged"*"written anew" ]]
    printf 'X' | dd of=cache bs=1 seek=5000 conv=notrunc status=none
    ask "$PROMPT"
    [[ $stderr == *"damaged: its SHA-256"*"written anew" ]]
    printf '\7' | dd of=cache bs=1 seek=8 conv=notrunc status=none
    ask "$PROMPT"
    [[ $stderr == *"version 7, this release reads 1"*"written anew" ]]
    ask "$PROMPT"
    [ "$(json 'o["reused_tokens"]')" = 13 ]
}

@test "a file of something else is never overwritten, and nothing is run" {
    printf 'the only copy of my thesis' >thesis
    cp "$TENON_MODEL" model.gguf
    for file in thesis model.gguf; do
        cp $file $file.before
        fails_with 6 "$file: is no snapshot" tenon run austen She -n 1 --greedy --prompt-cache $file
        cmp $file $file.before
    done
    mkfifo pipe
    fails_with 6 "not a regular file" tenon run austen She -n 1 --greedy --prompt-cache pipe
    fails_with 6 "not a regular file" tenon run austen She -n 1 --greedy --prompt-cache .
    fails_with 6 "not a regular file" tenon run austen She -n 1 --greedy --prompt-cache /dev/null
    [ -p pipe ] && [ -c /dev/null ]
}

@test "a folder that is missing or cannot be written is told before anything is run" {
    fails_with 6 "missing/cache: the prompt cache cannot be written there: No such file" tenon run austen She -n 1 --greedy --prompt-cache missing/cache
    [ "$(id -u)" -ne 0 ] || skip "root may write everywhere"
    mkdir locked; chmod 500 locked
    fails_with 6 "Permission denied" tenon run austen She -n 1 --greedy --prompt-cache locked/cache
}

@test "ids beside states that do not hold them are warned of" {
    ask "$PROMPT"
    python3 - <<'PY'
import hashlib, struct
data = bytearray(open("cache", "rb").read()[:-32])
count, (key, note) = struct.unpack_from("<I", data, 12)[0], struct.unpack_from("<QQ", data, 32)
at = 64 + key + -key % 8 + note + -note % 8
for _ in range(count):   # no state holds anything
    name = struct.unpack_from("<Q", data, at + 88)[0]
    struct.pack_into("<QQ", data, at + 72, 0, 0)
    at += 96 + name + -name % 8
del data[at:]
struct.pack_into("<Q", data, 16, len(data) + 32)
open("cache", "wb").write(data + hashlib.sha256(data).digest())
PY
    ask "$PROMPT"
    [[ $stderr == *"cache: holds 14 ids beside a KV cache that is not of so many; it is not used"* ]]
    [ "$(json 'o["reused_tokens"]')" = 0 ]
}

@test "no name of a file is told before the model is loaded" {
    fails_with 2 "run: --prompt-cache names no file" tenon run missing.gguf She -n 1 --greedy --prompt-cache ''
}

@test "a link to a file that is not there yet: the file is made, the link stays" {
    mkdir below
    ln -s below/cache link
    tenon run austen "$PROMPT" -n 1 --greedy --prompt-cache link
    [ -L link ] && [ -s below/cache ]
    run --separate-stderr tenon run austen "$PROMPT" -n 1 --greedy --prompt-cache link
    [[ $stderr == *"prompt cache: 13 of 14 tokens"* ]]
}

@test "a full disk: the text comes, then exit code 6; the old file is whole, no half one is left" {
    ask "$PROMPT"
    cp cache before
    tenon run austen "She was at" -n 8 --greedy >want
    run --separate-stderr bash -c 'ulimit -f 4; "$TENON" run austen "She was at" -n 8 --greedy --prompt-cache cache'
    [ "$status" -eq 6 ]
    [ "$output" = "$(cat want)" ]
    [[ $stderr == *"cache: writing failed after 4096 bytes: File too large; nothing was changed"* ]]
    cmp cache before
    [ "$(echo cache*)" = cache ]
}

@test "a killed run leaves the old file whole" {
    ask "$PROMPT"
    cp cache before
    for delay in 0.005 0.01 0.015 0.02 0.03; do
        timeout -s KILL $delay "$TENON" run austen "She was at" -n 1 --greedy --prompt-cache cache 2>/dev/null >/dev/null || true
        ask "It is a truth"
        [[ $stderr != *warning* ]]
    done
}

@test "an empty file is written like one that is not there" {
    : >cache
    ask "$PROMPT"
    [ -s cache ]
    [[ $stderr != *warning* ]]
}

@test "a cache is of the model, not of the device that made it" {
    partial=$(dirname "$TENON_TEST_PLUGINS")/session-plugins/partial.so
    ask "$PROMPT"
    run --separate-stderr tenon run austen "$PROMPT" -n 2 --greedy --prompt-cache cache --plugin "$partial" --device partial0 --set plugin.partial.refuse=80,48,60,64
    [ "$status" -eq 0 ]
    [[ $stderr != *warning* ]]
    [[ $stderr == *"prompt cache:"* ]]
}
