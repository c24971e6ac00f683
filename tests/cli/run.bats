#!/usr/bin/env bats
# tenon run: the forms that programs rely on, and what it says when it cannot.
bats_require_minimum_version 1.5.0
load common

@test "text streams to stdout, and only text" {
    run --separate-stderr tenon run austen "It is a truth universally acknowledged, that" -n 8 --greedy
    [ "$status" -eq 0 ]
    [ "$output" = " it is not to be a man of" ]
    [ -z "$stderr" ]
}

@test "--json has the fixed form" {
    run --separate-stderr tenon run austen --tokens 0,1029,364,259,1901,470,73,1174,552,1775,730,786,12,334 -n 24 --greedy --json
    [ "$status" -eq 0 ]
    [ "$(json 'sorted(o)')" = "['context_tokens', 'events', 'finish_reason', 'memory', 'model', 'prompt_tokens', 'reused_tokens', 'schema_version', 'seed', 'text', 'timing', 'tokens', 'top_logits']" ]
    [ "$(json 'o["schema_version"]')" = 1 ]
    [ "$(json 'o["prompt_tokens"][:3]')" = "[0, 1029, 364]" ]
    [ "$(json 'len(o["tokens"])')" = 24 ]
    [ "$(json 'len(o["top_logits"]), o["top_logits"] == sorted(o["top_logits"], key=lambda p: -p[1])')" = "(10, True)" ]
    [ "$(json 'sorted(o["timing"])')" = "['decode_tokens_per_s', 'load_ms', 'prefill_tokens_per_s']" ]
    [ "$(json 'sorted(o["memory"])')" = "['mapped_bytes', 'planned_bytes', 'rss_anon_bytes']" ]
    [ "$(json 'min(o["memory"].values()) > 0')" = True ]
}

@test "a prompt begins with BOS as the metadata says, and special text is parsed" {
    run --separate-stderr tenon run austen "She<|endoftext|>" -n 1 --greedy --json
    [ "$status" -eq 0 ]
    [ "$(json 'o["prompt_tokens"]')" = "[0, 975, 0]" ]
}

@test "the stop id ends the tokens and is not among them" {
    run --separate-stderr tenon run austen --tokens 0 -n 200 --seed 3 --temp 5 --top-k 0 --top-p 1 --min-p 0 --json
    [ "$status" -eq 0 ]
    [ "$(json '0 in o["tokens"]')" = False ]
    run --separate-stderr tenon run austen --tokens 0 -n 3 --greedy --ignore-eos --json
    [ "$(json 'len(o["tokens"])')" = 3 ]
}

@test "the same seed gives the same text, for every number of threads" {
    tenon run austen "She was" -n 30 --seed 11 -t 1 >one
    tenon run austen "She was" -n 30 --seed 11 -t 2 >two
    tenon run austen "She was" -n 30 --seed 11 -t 5 >five
    cmp one two
    cmp one five
}

@test "a random seed is told, and gives the text again" {
    run --separate-stderr tenon run austen "She was" -n 12
    [ "$status" -eq 0 ]
    [[ $stderr =~ ^"tenon: seed "([0-9]+)$ ]]
    first=$output
    run --separate-stderr tenon run austen "She was" -n 12 --seed "${BASH_REMATCH[1]}"
    [ "$output" = "$first" ]
    [ -z "$stderr" ]
}

@test "the prompt may come from standard input, byte for byte" {
    run --separate-stderr bash -c 'printf "She was" | "$TENON" run austen -n 4 --greedy --json'
    [ "$status" -eq 0 ]
    piped=$(json 'o["prompt_tokens"]')
    run --separate-stderr tenon run austen "She was" -n 4 --greedy --json
    [ "$(json 'o["prompt_tokens"]')" = "$piped" ]
}

@test "every kind of KV cache works" {
    for type in f32 f16 q8_0; do
        run --separate-stderr tenon run austen "She was at" -n 8 --greedy --kv-type "$type"
        [ "$status" -eq 0 ]
        [ -n "$output" ]
    done
    fails_with 2 "f32, f16 or q8_0" tenon run austen a --kv-type q4_0
}

@test "a full context ends the text and says so" {
    run --separate-stderr tenon run austen "She was" -n 100 --ctx 16 --greedy --ignore-eos --json
    [ "$status" -eq 0 ]
    [[ $stderr == *"context of 16 tokens is full"* ]]
    [ "$(json 'len(o["prompt_tokens"]) + len(o["tokens"])')" = 17 ]
}

@test "what does not fit into the context is told with both numbers" {
    fails_with 2 "the prompt has 5 tokens, the context holds 4: use --ctx 14 or more" tenon run austen --tokens 0,1,2,3,4 --ctx 4 -n 10
    fails_with 2 "tokens, the model was made for 256" tenon run austen "$(printf 'Emma %.0s' {1..300})"
    fails_with 2 "at most 256" tenon run austen a --ctx 1000000000
}

@test "a context that the memory cannot hold is refused before anything is allocated" {
    python3 - "$TENON_MODEL" <<'PY'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
at = data.index(b"llama.context_length") + len(b"llama.context_length") + 4
data[at:at + 4] = (2**30).to_bytes(4, "little")
open("long.gguf", "wb").write(data)
PY
    fails_with 5 "bytes are needed" tenon run long.gguf a --ctx 1000000000
}

@test "-n 0 gives the logits of the prompt and no token" {
    run --separate-stderr tenon run austen "She" -n 0 --json
    [ "$status" -eq 0 ]
    [ "$(json 'o["tokens"], o["text"], len(o["top_logits"])')" = "([], '', 10)" ]
}

@test "a model that is missing, empty, a folder, a pipe, unreadable or no GGUF: one line, exit code 6" {
    fails_with 6 "No such file" tenon run missing.gguf a
    : >empty.gguf; fails_with 6 "empty.gguf" tenon run empty.gguf a
    mkdir folder; fails_with 6 "folder" tenon run ./folder a
    mkfifo pipe; fails_with 6 "not a regular file" tenon run ./pipe a
    echo "not a model at all, just some text" >text.gguf; fails_with 6 "text.gguf" tenon run text.gguf a
    fails_with 6 "not a regular file" tenon run /dev/zero a
}

@test "a path with spaces and letters beyond ASCII works" {
    mkdir "a b ü"
    cp "$TENON_MODEL" "a b ü/mödel.gguf"
    run --separate-stderr tenon run "a b ü/mödel.gguf" "She" -n 2 --greedy
    [ "$status" -eq 0 ]
}

@test "a file of that name here comes before the embedded model" {
    echo "no model" >austen
    fails_with 6 "austen" tenon run austen a
}

@test "wrong usage: one line, exit code 2, the nearest option" {
    fails_with 2 "did you mean '--greedy'" tenon run austen a --gredy
    fails_with 2 "no option" tenon run austen a --zzzzzzzzzz
    fails_with 2 "needs a value" tenon run austen a --seed
    fails_with 2 "whole number" tenon run austen a -n 1.5
    fails_with 2 "number" tenon run austen a --temp hot
    fails_with 2 "number" tenon run austen a --temp nan
    fails_with 2 "number" tenon run austen a -t 0
    fails_with 2 "separated by commas" tenon run austen --tokens 1,,2
    fails_with 2 "separated by commas" tenon run austen --tokens 1,-2
    fails_with 2 "no token 99999" tenon run austen --tokens 99999
    fails_with 2 "take one" tenon run austen a --tokens 1
    fails_with 2 "MODEL" tenon run
    fails_with 2 "'b' is one word too many" tenon run austen a b
    fails_with 6 "the embedded model is called 'austen'" tenon run austin a
}

@test "an unknown device: exit code 3, and those there are" {
    fails_with 3 "there are: cpu0" tenon run austen a --device gpu7
    run --separate-stderr tenon run austen a -n 2 --greedy --device cpu0
    [ "$status" -eq 0 ]
}

@test "several devices of one plugin work, and the first one does the work" {
    tenon run austen "She was" -n 8 --greedy >one
    tenon run austen "She was" -n 8 --greedy --set plugin.cpu.devices=2 --device cpu1,cpu0 --explain >two 2>plan
    cmp one two
    grep -q "on cpu1" plan
    ! grep -q "segment.*on cpu0" plan
}

@test "a full device: one line" {
    run bash -c '"$TENON" run austen She -n 2 --greedy >/dev/full'
    [ "$status" -eq 6 ]
    [ "${#lines[@]}" -eq 1 ]
    [[ $output == *"cannot be written"* ]]
}

@test "an output beyond the limit of a file's size: one line" {
    run bash -c 'ulimit -f 0; "$TENON" run austen She -n 2 --greedy >out'
    [ "$status" -eq 6 ]
    [[ $output == *"cannot be written: File too large" ]]
}

@test "SIGINT ends it with 130" {
    run --separate-stderr bash -c '"$TENON" run austen She -n 255 --greedy --ignore-eos -t 1 >out & pid=$!; while [ ! -s out ] && kill -0 $pid 2>/dev/null; do :; done; kill -INT $pid; wait $pid'
    [ "$status" -eq 130 ] || [ "$(wc -c <out)" -gt 800 ]
}

@test "a model of an unknown architecture: the file, exit code 6" {
    python3 - "$TENON_MODEL" <<'PY'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
at = data.index(b"general.architecture") + len(b"general.architecture") + 12
data[at:at + 5] = b"gemma"
open("gemma.gguf", "wb").write(data)
PY
    fails_with 6 "gemma.gguf: model: architecture 'gemma' is not known" tenon run gemma.gguf a
}

@test "--no-special takes special text of the prompt as text" {
    run --separate-stderr tenon run austen "<|endoftext|>" -n 0 --json --no-special
    [ "$status" -eq 0 ]
    [ "$(json 'o["prompt_tokens"].count(0)')" = 1 ]
}

@test "--explain says what each device offers and gets" {
    run --separate-stderr tenon run austen a -n 1 --greedy --explain --set plugin.cpu.devices=2
    [ "$status" -eq 0 ]
    [[ $stderr == *"cpu0: 97 claims"*"gets 72 nodes"*"cpu1: 97 claims"*"gets 0 nodes"* ]]
    [[ $stderr == *"no plan is below"* ]]
}

@test "SIGINT while the prompt is read ends it with 130" {
    run --separate-stderr bash -c 'sleep 5 | "$TENON" run austen & sleep 0.3; pkill -INT -f "$TENON run austen$"; wait $!'
    [ "$status" -eq 130 ]
}

@test "help is complete and goes to stdout" {
    run --separate-stderr tenon run --help
    [ "$status" -eq 0 ]
    for option in --tokens --greedy --json --quiet --ctx --device --seed --ignore-eos --threads --kv-type --prompt-cache --plugin --set --config --explain; do
        [[ $output == *"$option"* ]]
    done
}

@test "options: another name is suggested, none is cut short, and -- comes before text with a dash" {
    fails_with 2 "there is no option '--temperature'; did you mean '--temp'?" tenon run austen a --temperature 1
    fails_with 2 "there is no option '--ctx-size'; did you mean '--ctx'?" tenon run austen a --ctx-size 12
    fails_with 2 "there is no option '--max'; did you mean '--max-tokens'?" tenon run austen a --max 5
    fails_with 2 "-n 'gx': a whole number" tenon run austen a -ngx 99
    fails_with 2 "there is no option '- hello', see tenon run --help; put -- before text that begins with -" tenon run austen "- hello"
    fails_with 2 "there is no option '-hello'" tenon tokenize austen -hello
    run --separate-stderr tenon tokenize austen -- "- a"
    [ "$status" -eq 0 ]
    fails_with 2 "option '-n' needs a value" tenon run austen a -n
}

@test "- is standard input, which has an end" {
    tenon run austen "It is" -n 3 --greedy >want
    echo -n "It is" | tenon run austen - -n 3 --greedy >got
    cmp want got
    echo -n "It is a truth" >text
    tenon perplexity austen text >want
    tenon perplexity austen - <text >got
    cmp want got
    [ "$(tenon tokenize austen - <text)" = "$(tenon tokenize austen 'It is a truth')" ]
    fails_with 2 "standard input has more than 64 MiB" bash -c 'yes | "$TENON" run austen -n 1'
}

@test "options may stand behind words, whatever the environment says" {
    tenon run austen "It is" -n 3 --greedy >want
    POSIXLY_CORRECT=1 "$TENON" run austen "It is" -n 3 --greedy >got
    cmp want got
}

@test "a message is one line that steers no terminal" {
    fails_with 6 "?[31mred?.gguf: No such file" tenon run $'\x1b[31mred\n.gguf' a
    fails_with 2 "there is no option '--?[31m'" tenon run austen $'--\x1b[31m'
}

@test "a file that has no end is refused" {
    fails_with 2 "/dev/zero has more than 64 MiB" tenon perplexity austen /dev/zero
    echo -n "It is a truth" >text
    [ "$(tenon perplexity austen <(cat text))" = "$(tenon perplexity austen text)" ]
}

@test "what tokenize prints is what --tokens takes" {
    run --separate-stderr tenon run austen --tokens "$(tenon tokenize austen 'It is a truth')" -n 1 --greedy --json
    [ "$status" -eq 0 ]
    [ "$(json '" ".join(map(str, o["prompt_tokens"]))')" = "$(tenon tokenize austen 'It is a truth')" ]
    fails_with 2 "not '1.5'" tenon run austen --tokens "3, 1.5"
    fails_with 2 "not ''" tenon run austen --tokens ""
}

@test "--json alone is enough to run the same again" {
    run --separate-stderr tenon run austen "She was" -n 12 --json
    [ "$status" -eq 0 ]
    [ "$(json 'o["model"]')" = austen ]
    [ "$(json 'o["context_tokens"]')" = 256 ]
    text=$(json 'o["text"]') seed=$(json 'o["seed"]')
    run --separate-stderr tenon run austen "She was" -n 12 --json --seed "$seed"
    [ "$(json 'o["text"]')" = "$text" ]
}

@test "SIGINT during a long prompt ends it before the prompt's end" {
    model=$(dirname "$TENON")/../../models/SmolLM2-135M-Instruct.Q4_1.gguf
    [ -e "$model" ] || skip "no real model: tests/fetch-models"
    python3 -c "print('word ' * 3600)" >long
    for seconds in 1 4 16; do   # before the model is there it ends with nothing
        run --separate-stderr bash -c '"$TENON" run "$0" -n 1 --greedy --prompt-cache cache --json <long & sleep "$1"; kill -INT $!; wait $!' \
            "$model" "$seconds"
        [ -z "$output" ] || break
    done
    [ "$status" -eq 130 ]
    [ "$(json 'o["finish_reason"]')" = interrupted ]
    [ ! -e cache ]
}

# on_terminal ARGUMENT…: the command with a terminal as stderr; what stands there, with line ends as \n.
on_terminal() {
    python3 - "$TENON" "$@" <<'PY'
import os, pty, subprocess, sys
own, theirs = pty.openpty()
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs)
os.close(theirs)
told = b""
try:
    while piece := os.read(own, 4096):
        told += piece
except OSError:   # the other end is closed
    pass
assert child.wait() == 0, told
print(repr(told.decode().replace("\r\n", "\n")))
PY
}

@test "a prompt that takes over a second has a line on a terminal that tells how far it is" {
    python3 - "$TENON_MODEL" <<'PY'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
at = data.index(b"llama.context_length") + len(b"llama.context_length") + 4
data[at:at + 4] = (2**20).to_bytes(4, "little")
open("long.gguf", "wb").write(data)
PY
    export TENON_CPU_ISA=scalar
    run --separate-stderr tenon run long.gguf --tokens "$(printf '5 %.0s' {1..256})" -n 1 -t 1 --greedy --json
    count=$(json 'max(64, int(o["timing"]["prefill_tokens_per_s"] * 2))')
    args=(run long.gguf --tokens "$(yes 5 | head -n "$count" | tr '\n' ' ')" -n 1 -t 1 --ctx "$((count + 1))")
    run on_terminal "${args[@]}" --seed 1
    [[ $output =~ "prompt: "[0-9]+" of $count tokens, "[1-9][0-9]*" s\r" ]]
    [[ $output == *" \r'" ]]   # wiped at the end
    run on_terminal "${args[@]}" --seed 1 --quiet
    [ "$output" = "''" ]
    run on_terminal run austen She -n 2 --quiet   # no seed either
    [ "$output" = "''" ]
    run on_terminal run austen She -n 2
    [[ $output =~ ^"'tenon: seed "[0-9]+"\n'"$ ]]
    run --separate-stderr tenon run austen She -n 2 -q --prompt-cache cache
    run --separate-stderr tenon run austen She -n 2 -q --prompt-cache cache
    [ "$status" -eq 0 ] && [ -z "$stderr" ]
}

@test "help shows the defaults, whatever is given before it" {
    run --separate-stderr tenon run -n 7 --temp 2 --help
    [ "$status" -eq 0 ]
    for text in "(default: 128)" "temperature (default: 0.8); 0 is greedy" "(default: 40); 0: all" "(default: 0.95)" "(default: 0.05)" "factor (default: 1)"; do
        [[ $output == *"$text"* ]]
    done
    [[ $output != *"{}"* ]]
}
