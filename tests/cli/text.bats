#!/usr/bin/env bats
# Text that broke other programs, and surroundings that did.
bats_require_minimum_version 1.5.0
load common

# The tokens of single bytes of the embedded model, by `tokenize`: its vocabulary has all 256.
byte_id() {
    printf "%b" "\\x$1" | "$TENON" tokenize austen --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["tokens"][-1])'
}

# Logits by which a greedy run gives the bytes F0 9F 98 80 of an emoji and then begins the next one.
emoji_biases() {
    echo "--presence-penalty 100 --logit-bias $(byte_id f0)=1000 --logit-bias $(byte_id 9f)=950 --logit-bias $(byte_id 98)=920 --logit-bias $(byte_id 80)=910"
}

@test "a prompt that is no UTF-8 runs, with the ids that tokenize gives" {
    printf 'a\0b \360\237 \200\277 \300\200 \355\240\200 \377 \303' >text
    tenon tokenize austen --json <text >ids
    run --separate-stderr bash -c '"$TENON" run austen -n 0 --json <text'
    [ "$status" -eq 0 ]
    [ "$(json 'o["prompt_tokens"] == json.load(open("ids"))["tokens"]')" = True ]
    [ "$(json '0 in o["prompt_tokens"] and len(o["prompt_tokens"]) > 15')" = True ]
    run --separate-stderr tenon perplexity austen text
    [ "$status" -eq 0 ]
}

@test "text comes out whole characters at a time" {
    biases=$(emoji_biases)
    run --separate-stderr tenon run austen She -n 4 --greedy $biases
    [ "$status" -eq 0 ]
    [ "$output" = "😀" ]
    run --separate-stderr tenon run austen She -n 3 --greedy $biases
    [ "$output" = "�" ]
    run --separate-stderr tenon run austen She -n 5 --greedy $biases --json
    [ "$(json 'o["text"] == "\U0001f600\ufffd"')" = True ]
}

@test "--raw gives the bytes as they are" {
    biases=$(emoji_biases)
    tenon run austen She -n 3 --greedy --raw $biases >raw
    [ "$(od -An -tx1 raw)" = " f0 9f 98 0a" ]
    fails_with 2 "--raw and --json" tenon run austen She --raw --json
}

@test "a file that names no pre-tokenizer, or an unknown one: what is assumed and how to set it" {
    run --separate-stderr tenon tokenize "$TENON_TOKENIZERS/default.gguf" "It's 1234"
    [ "$status" -eq 0 ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ $stderr == *"warning: "*"default.gguf: the file names no pre-tokenizer, 'default' is assumed; the option pre sets another one of default, gpt-2,"* ]]
    sed 's/qwen2/qwen7/' "$TENON_TOKENIZERS/qwen2.gguf" >unknown.gguf
    run --separate-stderr tenon tokenize unknown.gguf "It's 1234"
    [ "$status" -eq 0 ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ $stderr == *"warning: unknown.gguf: the file's pre-tokenizer 'qwen7' is not known, 'default' is assumed; the option pre sets another one of"* ]]
    run --separate-stderr tenon tokenize unknown.gguf "It's 1234" --pre qwen2
    [ -z "$stderr" ]
    known=$output
    run --separate-stderr tenon tokenize "$TENON_TOKENIZERS/qwen2.gguf" "It's 1234"
    [ "$output" = "$known" ]
}

@test "a megabyte on one line takes near-linear time and no deep stack" {
    head -c 1000000 /dev/zero | tr '\0' a >letters
    head -c 100000 /dev/zero | tr '\0' ' ' >spaces
    head -c 100000 /dev/zero | sed 's/\x00/漢/g' >signs
    for model in austen "$TENON_TOKENIZERS"/{llama-bpe,qwen2,default,spm}.gguf; do
        for text in letters spaces signs; do
            run --separate-stderr timeout 10 bash -c 'ulimit -s 256 && "$TENON" tokenize "$1" <"$2" >ids' _ "$model" $text
            [ "$status" -eq 0 ]
        done
    done
}

@test "a locale with a decimal comma changes no number" {
    localedef -i de_DE -f ISO-8859-1 "$PWD/de_DE" >/dev/null 2>&1 || skip "localedef has no de_DE here"
    export LOCPATH=$PWD
    [ "$(LC_ALL=de_DE bash -c 'printf %.1f 0,5')" = "0,5" ]   # the locale works
    run --separate-stderr env LC_ALL=de_DE "$TENON" run austen "She was" -n 6 --temp 0.5 --top-p 0.9 --seed 1 --logit-bias 40=2.5 --json
    [ "$status" -eq 0 ]
    german=$(json 'o["tokens"], o["top_logits"]')
    run --separate-stderr env LC_ALL=C "$TENON" run austen "She was" -n 6 --temp 0.5 --top-p 0.9 --seed 1 --logit-bias 40=2.5 --json
    [ "$(json 'o["tokens"], o["top_logits"]')" = "$german" ]
    fails_with 2 "a number" env LC_ALL=de_DE "$TENON" run austen a --temp 0,5
}

@test "the encoding of the locale does not matter" {
    LC_ALL=C tenon run austen "Ü 漢" -n 8 --greedy --json | sed 's/,"timing.*//' >c
    LC_ALL=C.UTF-8 tenon run austen "Ü 漢" -n 8 --greedy --json | sed 's/,"timing.*//' >utf8
    cmp c utf8
}

@test "HOME may be missing, not there, a file or read-only" {
    mkdir locked && chmod 500 locked
    touch file
    for home in "" "HOME=/nonexistent" "HOME=$PWD/file" "HOME=$PWD/locked" "HOME="; do
        run --separate-stderr env -u HOME -u XDG_CONFIG_HOME $home "$TENON" run austen She -n 2 --greedy
        [ "$status" -eq 0 ]
        [ -z "$stderr" ]
        run --separate-stderr env -u HOME -u XDG_CONFIG_HOME $home "$TENON" plugins
        [ "$status" -eq 0 ]
    done
}

@test "closed standard streams: a line where there is one to write to, never a crash" {
    fails_with 6 "standard input cannot be read" bash -c '"$TENON" run austen -n 2 --greedy <&-'
    fails_with 6 "standard input cannot be read" bash -c '"$TENON" tokenize austen <&-'
    for command in "run austen She -n 2 --greedy" "tokenize austen She" "devices" "plugins" "run --help" "--version"; do
        fails_with 6 "standard output cannot be written" bash -c "\"\$TENON\" $command >&-"
        run bash -c "\"\$TENON\" $command >&- 2>&- <&-"
        [ "$status" -eq 6 ]
        run bash -c "\"\$TENON\" $command 2>&- <&-"
        [ "$status" -eq 0 ]
    done
}

@test "a pipe that nobody reads any more ends it quietly" {
    for command in "run austen She -n 250 --greedy --ignore-eos" "run austen She -n 250 --greedy --ignore-eos --raw"; do
        run --separate-stderr bash -c "set -o pipefail; \"\$TENON\" $command | head -c 1"
        [ "$status" -eq 141 ]   # by SIGPIPE
        [ -z "$stderr" ]
    done
    # Where the signal is ignored, writing fails instead.
    run --separate-stderr bash -c 'trap "" PIPE; set -o pipefail; "$TENON" run austen She -n 250 --greedy --ignore-eos | head -c 1'
    [ "$status" -eq 6 ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ $stderr == *"standard output cannot be written: Broken pipe"* ]]
}

@test "no line of a help has more than 120 columns, and short words are told" {
    for command in run plan bench perplexity tokenize inspect devices plugins tune conform; do
        tenon "$command" --help >help
        run ! grep -E '.{121}' help
    done
    tenon run --help >help
    grep -q -- '--device .*(-dev)$' help
    grep -A 1 -- '^      --override-tensor REGEX=DEVICE$' help | grep -q '^ \{29\}what reads tensors'
}

@test "a terminal 20 columns wide" {
    for size in "COLUMNS=20 LINES=2" "COLUMNS=0" "COLUMNS=-1" "COLUMNS=x" "TERM=" "TERM=nonsense"; do
        run --separate-stderr env $size "$TENON" run austen She -n 2 --greedy
        [ "$status" -eq 0 ]
        [ "$output" = " was not" ]
        run --separate-stderr env $size "$TENON" run --help
        [ "$status" -eq 0 ]
    done
    run bash -c 'stty_run="stty cols 20; \"$TENON\" run austen She -n 2 --greedy"; script -qec "$stty_run" /dev/null </dev/null'
    [ "$status" -eq 0 ]
    [[ $output == *" was not"* ]]
}
