#!/usr/bin/env bats
# Model files as they come: in several parts, damaged, cut while in use, read instead of mapped.
bats_require_minimum_version 1.5.0
load common

split() { python3 "$TENON_SPLIT" "$TENON_MODEL" "${1-m}" 3; }
part() { echo "m-0000$1-of-00003.gguf"; }

# wait_for COMMAND…: until it succeeds, ten seconds at most.
wait_for() {
    local i
    for i in {1..1000}; do
        ! "$@" || return 0
        sleep 0.01
    done
    return 1
}

@test "a model in three parts runs like the whole one" {
    split
    tenon run austen "It is a truth" -n 24 --greedy >whole
    for option in "" --no-mmap; do
        tenon run "$(part 1)" "It is a truth" -n 24 --greedy $option >parts
        cmp whole parts
    done
    echo "She was not a woman of many words; for, unlike people in general" >text
    tenon perplexity austen text >whole
    tenon perplexity "$(part 1)" text >parts
    cmp whole parts
    tenon tokenize "$(part 1)" "It is" >parts
    [ "$(cat parts)" = "$(tenon tokenize austen "It is")" ]
}

@test "a model whose name is no more than what a part's name ends in" {
    split ""
    [ -e -00001-of-00003.gguf ]
    tenon run austen "It is a truth" -n 8 --greedy >whole
    tenon run --greedy -n 8 -- -00001-of-00003.gguf "It is a truth" >parts
    cmp whole parts
}

@test "inspect shows the parts, and which tensor is in which" {
    split
    run --separate-stderr tenon inspect "$(part 1)"
    [ "$status" -eq 0 ]
    [[ $output == *"parts: 3"*"m-00001-of-00003.gguf: 12 tensors"*"m-00003-of-00003.gguf: 13 tensors"*"problems: 0"* ]]
    run --separate-stderr tenon inspect "$(part 1)" --json
    [ "$status" -eq 0 ]
    [ "$(json '[p["tensors"] for p in o["parts"]]')" = "[12, 13, 13]" ]
    [ "$(json '[t["part"] for t in o["tensors"]] == [0] * 12 + [1] * 13 + [2] * 13')" = True ]
    [ "$(json 'sum(p["file_bytes"] for p in o["parts"]) == o["file_bytes"]')" = True ]
}

@test "a part alone, missing, damaged or joined: one line that names the file and says what to do" {
    split
    fails_with 6 "m-00002-of-00003.gguf: is part 2 of 3 of a model; open its first part, m-00001-of-00003.gguf" tenon run "$(part 2)" a
    cat m-0000*-of-00003.gguf >joined.gguf
    fails_with 6 "joined by \`cat\`; keep them as they came" tenon run joined.gguf a
    fails_with 6 "joined by \`cat\`" tenon tokenize joined.gguf a
    cp "$(part 1)" first.gguf
    fails_with 6 "first.gguf: is part 1 of 3 of a model, but its name does not end in -00001-of-00003.gguf" tenon run first.gguf a
    truncate -s -1 "$(part 3)"
    fails_with 6 "m-00003-of-00003.gguf: tensor 12 " tenon run "$(part 1)" a
    rm "$(part 3)"
    fails_with 6 "m-00003-of-00003.gguf: No such file or directory (part 3 of 3 of the model)" tenon run "$(part 1)" a
    mv "$(part 1)" "$(part 3)"
    fails_with 6 "open its first part, m-00001-of-00003.gguf" tenon run "$(part 2)" a
}

@test "--no-mmap reads the file: the same text, and the memory is told" {
    tenon run austen "She was" -n 8 --greedy >mapped
    tenon run austen "She was" -n 8 --greedy --no-mmap >read
    cmp mapped read
    run --separate-stderr tenon run "$TENON_MODEL" "She was" -n 1 --greedy --json
    mapped=$(json 'o["memory"]["planned_bytes"] + o["memory"]["mapped_bytes"]')
    weights=$(json 'o["memory"]["mapped_bytes"]')
    [ "$weights" -gt 1000000 ]
    run --separate-stderr tenon run "$TENON_MODEL" "She was" -n 1 --greedy --json --no-mmap
    [ "$(json 'o["memory"]["mapped_bytes"]')" = 0 ]
    # The file counts, and no second copy of the weights does.
    [ "$(json 'o["memory"]["planned_bytes"]')" = "$((mapped - weights + $(stat -c %s "$TENON_MODEL")))" ]
}

@test "--no-repack reads weights where they lie: the same text, and no memory for them" {
    tenon run austen "She was" -n 8 --greedy >packed
    for also in "" "--set plugin.cpu.repack=on"; do   # the option has the last word
        tenon run austen "She was" -n 8 --greedy $also --no-repack >raw
        cmp packed raw
    done
    run --separate-stderr tenon plan austen --json --device cpu0
    [ "$(json 'o["devices"][0]["weight_copied_bytes"] > o["devices"][0]["weight_mapped_bytes"] / 2')" = True ]
    run --separate-stderr tenon plan austen --json --device cpu0 --no-repack
    [ "$(json 'o["devices"][0]["weight_copied_bytes"]')" = 0 ]
    run --separate-stderr tenon bench austen -p 4 -n 2 -t 1 -r 1 --no-repack
    [ "$status" -eq 0 ]
    fails_with 3 "repack=perhaps: must be on or off" tenon run austen a -n 1 --set plugin.cpu.repack=perhaps
    fails_with 2 "--no-repack is of a model" tenon plan --intervals - --no-repack
}

@test "a file cut after it was opened: one line, exit code 6" {
    cp "$TENON_MODEL" cut.gguf
    mkfifo prompt
    "$TENON" run cut.gguf -n 200 --greedy <prompt >out 2>err &
    pid=$!
    exec 9>prompt
    wait_for grep -q cut.gguf "/proc/$pid/maps"
    truncate -s 100000 cut.gguf
    echo "She was" >&9
    exec 9>&-
    status=0
    wait $pid || status=$?
    [ "$status" -eq 6 ]
    [ ! -s out ]
    [ "$(wc -l <err)" -eq 1 ]
    grep -q "cut.gguf: .* while it was in use" err
}

@test "a file cut while text comes out: the text ends with a line, exit code 6" {
    cp "$TENON_MODEL" cut.gguf
    mkfifo pipe
    "$TENON" run cut.gguf She -n 255 --greedy --ignore-eos >pipe 2>err &
    pid=$!
    exec 9<pipe
    head -c 1 <&9 >out
    kill -STOP $pid
    truncate -s 0 cut.gguf
    kill -CONT $pid
    cat <&9 >>out
    exec 9<&-
    status=0
    wait $pid || status=$?
    # All may have been written before: then it is whole.
    if [ "$status" -ne 0 ] || [ "$(wc -c <out)" -lt 800 ]; then
        [ "$status" -eq 6 ]
        grep -q "cut.gguf: .* while it was in use" err
    fi
}

@test "a file cut while bench or perplexity use it: one line, exit code 6" {
    for ((i = 0; i < 20000; i++)); do echo "It is a truth universally acknowledged."; done >words
    for command in "bench cut.gguf -p 32 -n 8 -r 1000" "bench cut.gguf -p 32 -n 8 -r 1000 --json" "perplexity cut.gguf words" "perplexity cut.gguf words --json"; do
        cp "$TENON_MODEL" cut.gguf
        "$TENON" $command >out 2>err &
        pid=$!
        wait_for grep -q cut.gguf "/proc/$pid/maps"
        sleep 0.2
        truncate -s 100000 cut.gguf
        status=0
        wait $pid || status=$?
        [ "$status" -eq 6 ]
        [ ! -s out ]
        [ "$(wc -l <err)" -eq 1 ]
        grep -q "cut.gguf: .* while it was in use" err
    done
}

@test "a file cut meanwhile: run --json has the text up to there" {
    mkfifo pipe
    # The seed is told when all is ready to read the prompt. Where the text was whole before the process stopped: once more.
    for ((i = 0; i < 10; i++)); do
        cp "$TENON_MODEL" cut.gguf
        "$TENON" run cut.gguf She -n 255 --ignore-eos -t 1 --json >out 2>pipe &
        pid=$!
        exec 9<pipe
        read -r seed <&9
        kill -STOP $pid
        truncate -s 0 cut.gguf
        kill -CONT $pid
        cat <&9 >err
        exec 9<&-
        status=0
        wait $pid || status=$?
        [ "$status" -eq 0 ] || break
    done
    [[ $seed == "tenon: seed "* ]]
    [ "$status" -eq 6 ]
    [ "$(wc -l <err)" -eq 1 ]
    output=$(cat out)
    [ "$(json 'o["finish_reason"], o["error"]["exit_code"], len(o["tokens"]) < 255')" = "('error', 6, True)" ]
}

@test "with --no-mmap a file may be cut" {
    cp "$TENON_MODEL" cut.gguf
    mkfifo prompt
    "$TENON" run cut.gguf -n 4 --greedy --no-mmap <prompt >out 2>err &
    pid=$!
    exec 9>prompt
    size=$(stat -c %s cut.gguf)
    is_read() { [ "$(sed -n 's/^rchar: //p' "/proc/$pid/io")" -ge "$size" ]; }
    wait_for is_read
    truncate -s 0 cut.gguf
    printf "She was" >&9
    exec 9>&-
    wait $pid
    [ "$(cat out)" = "$(tenon run austen "She was" -n 4 --greedy)" ]
}

@test "inspect lists every problem of a damaged file, and ends with 6" {
    python3 - "$TENON_MODEL" <<'PY'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
for name, back in ((b"blk.1.attn_q.weight", 8), (b"blk.2.ffn_up.weight", 8)):
    at = data.index(name) + len(name) + 4 + 16 + 4          # rank, dims, type: the offset
    data[at:at + 8] = (3 if b"attn" in name else 2**40).to_bytes(8, "little")
at = data.index(b"blk.3.ffn_down.weight") + len(b"blk.3.ffn_down.weight") + 4
data[at:at + 8] = bytes(8)                                   # a dim of 0
open("broken.gguf", "wb").write(data)
PY
    run --separate-stderr tenon inspect broken.gguf --json
    [ "$status" -eq 6 ]
    [ "$(json 'len(o["tensors"]), len(o["metadata"]), len(o["problems"])')" = "(38, 24, 3)" ]
    [[ $(json '"\n".join(o["problems"])') == *"'blk.3.ffn_down.weight': dims[0] is 0"* ]]
    [[ $(json '"\n".join(o["problems"])') == *"'blk.1.attn_q.weight': its offset is 3"* ]]
    [[ $(json '"\n".join(o["problems"])') == *"'blk.2.ffn_up.weight': ends outside the file"* ]]
    run --separate-stderr tenon inspect broken.gguf
    [ "$status" -eq 6 ]
    [[ $output == *"blk.0.attn_q.weight"*"problems: 3"* ]]
}

@test "inspect lists every key and tensor that the architecture misses" {
    python3 - "$TENON_MODEL" <<'PY'
import sys
data = open(sys.argv[1], "rb").read()
open("names.gguf", "wb").write(data.replace(b"blk.1.attn_q.weight", b"blk.1.attn_q.weighT")
                                   .replace(b"blk.2.ffn_up.weight", b"blk.2.ffn_up.weighT"))
open("keys.gguf", "wb").write(data.replace(b"llama.block_count", b"llama.block_counT")
                                  .replace(b"llama.context_length", b"llama.context_lengtH"))
PY
    run --separate-stderr tenon inspect names.gguf --json
    [ "$status" -eq 6 ]
    [ "$(json 'len(o["problems"])')" = 4 ]
    [[ $(json '"\n".join(o["problems"])') == *"no tensor 'blk.1.attn_q.weight'"*"no tensor 'blk.2.ffn_up.weight'"*"'blk.1.attn_q.weighT' has no place"* ]]
    run --separate-stderr tenon inspect keys.gguf --json
    [ "$status" -eq 6 ]
    [[ $(json '"\n".join(o["problems"])') == *"no key llama.context_length"*"no key llama.block_count"* ]]
}

@test "inspect of a file that breaks off shows what comes before, of no GGUF file nothing" {
    head -c 2000 "$TENON_MODEL" >head.gguf
    run --separate-stderr tenon inspect head.gguf --json
    [ "$status" -eq 6 ]
    [ "$(json 'len(o["tensors"]), len(o["metadata"]) > 3, len(o["problems"])')" = "(0, True, 1)" ]
    echo "not a model at all, just some text" >text.gguf
    fails_with 6 "is not a GGUF file" tenon inspect text.gguf
    split
    rm "$(part 2)"
    truncate -s -1 "$(part 3)"
    run --separate-stderr tenon inspect "$(part 1)" --json
    [ "$status" -eq 6 ]
    [ "$(json 'len(o["parts"]), len(o["tensors"]), len(o["problems"])')" = "(2, 25, 2)" ]
    run --separate-stderr tenon inspect "$(part 3)" --json
    [ "$status" -eq 6 ]
    [[ $(json 'o["problems"][0]') == *"open its first part"* ]]
}

@test "what is only assumed is a warning, not a problem" {
    python3 - "$TENON_MODEL" <<'PY'
import sys
data = open(sys.argv[1], "rb").read()
open("pre.gguf", "wb").write(data.replace(b"tokenizer.ggml.pre", b"tokenizer.ggml.prE"))
PY
    run --separate-stderr tenon inspect pre.gguf --json
    [ "$status" -eq 0 ]
    [ "$(json 'len(o["warnings"]), o["problems"]')" = "(1, [])" ]
    run --separate-stderr tenon inspect pre.gguf
    [[ $output == *"warnings: 1"*"pre-tokenizer"*"problems: 0"* ]]
}

@test "inspect of a path that is not UTF-8" {
    cp "$TENON_MODEL" $'m\xff.gguf'
    run --separate-stderr tenon inspect $'m\xff.gguf' --json
    [ "$status" -eq 0 ]
    [ "$(json 'o["path"]')" = 'm\xff.gguf' ]
    [ "$(json 'o["parts"][0]["path"]')" = 'm\xff.gguf' ]
}

@test "a file without permission to read: one line" {
    cp "$TENON_MODEL" closed.gguf
    chmod 0 closed.gguf
    [ ! -r closed.gguf ] || skip "root reads everything"
    fails_with 6 "closed.gguf: Permission denied" tenon run closed.gguf a
}
