#!/usr/bin/env bats
# tenon plan: of a model, and of intervals.
bats_require_minimum_version 1.5.0
load common

HEADER=id,lower,upper,size

# rows TEXT…: a line each below the header, into f.csv.
rows() { printf '%s\n' "$HEADER" "$@" >f.csv; }

# right FILE [ALIGN [checked]]: the JSON in $output against FILE, by the times of the file and pair by pair.
right() {
    python3 - "$output" "$@" <<'PY'
import csv, json, sys
o, align = json.loads(sys.argv[1]), int((sys.argv[3:] or [1])[0])
rows = [[int(row[c]) for c in ("lower", "upper", "size")] for row in csv.DictReader(open(sys.argv[2], newline=""))]
checked = ["checked"] if len(sys.argv) > 4 else []
assert list(o) == ["schema_version", "peak", "lower_bound", "proved_optimal", "time_ms", "offsets"] + checked, list(o)
assert o.get("checked", True) is True
assert o["schema_version"] == 1 and o["time_ms"] >= 0
at = o["offsets"]
up = lambda size: -(-size // align) * align
assert len(at) == len(rows) and all(x % align == 0 for x in at)
for i, (lower, upper, size) in enumerate(rows):
    assert at[i] + size <= o["peak"]
    for j in range(i):
        assert upper <= rows[j][0] or rows[j][1] <= lower or at[i] + size <= at[j] or at[j] + rows[j][2] <= at[i], (i, j)
live = lambda t: sum(up(size) for lower, upper, size in rows if lower <= t < upper)
assert o["lower_bound"] == max([live(lower) for lower, _, _ in rows] or [0])
assert o["peak"] == max([x + up(row[2]) for x, row in zip(at, rows)] or [0])
assert o["peak"] >= o["lower_bound"] and (o["proved_optimal"] or o["peak"] > o["lower_bound"])
PY
}

random_rows() {
    python3 - "$@" >f.csv <<'PY'
import random, sys
seed, count, order = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3].split(",")
r = random.Random(seed)
print(",".join(order))
for i in range(count):
    lower = r.randint(-500, 500)
    row = {"id": f"b{i}", "lower": lower, "upper": lower + r.randint(1, 90), "size": r.choice([0, r.randint(1, 9999)])}
    print(",".join(str(row[c]) for c in order))
PY
}

@test "a device that fails while the plan is made is left out of it, and the JSON says so" {
    output=$(tenon plan austen --ctx 64 --json --plugin "$TENON_TEST_PLUGINS/sim.so" \
        --set 'plugin.sim.devices=[{"name":"a"},{"name":"b","fail":{"call":"claim","lost":true}}]' 2>told)
    grep -q "b is left out" told
    [ "$(json '[(d["name"], d["left_out"], d["capacity_bytes"] > 0) for d in o["devices"]]')" = \
        "[('a', False, True), ('b', True, False), ('cpu0', False, True)]" ]
}

@test "what is explained of a device that is left out, and of a weight" {
    plan() {
        run --separate-stderr tenon plan austen --ctx 64 --explain "$1" --plugin "$TENON_TEST_PLUGINS/sim.so" --set "plugin.sim.devices=$2"
        [ "$status" -eq 0 ]
    }
    plan b '[{"name":"a"},{"name":"b","fail":{"call":"claim","lost":true}}]'
    [[ $output == "device b: left out: "*"call 1 of device b fails"*"b is left out" ]]
    plan blk.0.attn_q.weight '[{"name":"a"}]'
    [[ $output == "value 'blk.0.attn_q.weight': "*", a weight, kept where it is read: on a"* ]]
    plan token_embd.weight '[{"name":"a","except":["get_rows"]}]'
    [[ $output == *"a weight, kept where it is read: on a and cpu0"* || $output == *"a weight, kept where it is read: on cpu0"* ]]
}

@test "intervals: each has its offset, in the order of the file and of any columns" {
    for order in id,lower,upper,size size,id,upper,lower upper,lower,size; do
        random_rows 1 250 "$order"
        run --separate-stderr tenon plan --intervals f.csv --json --check
        [ "$status" -eq 0 ] && [ -z "$stderr" ]
        right f.csv 1 checked
    done
    run --separate-stderr tenon plan --intervals f.csv --json --align 256 --time-limit 0
    [ "$status" -eq 0 ]
    right f.csv 256
    first=$(json 'o["offsets"]')
    run --separate-stderr tenon plan --intervals - --json --align 256 --time-limit 0 <f.csv
    [ "$(json 'o["offsets"]')" = "$first" ]
}

@test "intervals: a file from another system, without an end, and without an interval" {
    printf '\xef\xbb\xbf%s\r\na, 0, 2, 64\r\n\r\nb,1,3,64\r\nc,-9223372036854775808,0,8' "$HEADER" >f.csv
    run --separate-stderr tenon plan --intervals f.csv --json
    [ "$(json 'o["peak"], o["proved_optimal"], sorted(o["offsets"])')" = "(128, True, [0, 0, 64])" ]
    rows
    run --separate-stderr tenon plan --intervals f.csv --json --check
    [ "$(json 'o["peak"], o["lower_bound"], o["offsets"]')" = "(0, 0, [])" ]
}

@test "intervals: in words" {
    rows a,0,2,64 b,1,3,32 c,2,4,64
    run --separate-stderr tenon plan --intervals f.csv --check
    [ "$status" -eq 0 ]
    [[ $output == *"intervals      3"*"peak           96 bytes, proved optimal"*"lower bound    96 bytes"*"without reuse  160 bytes"*"checked "* ]]
    run --separate-stderr tenon plan --intervals f.csv
    [[ $output != *checked* && $output == *"(the peak is 1.0000 of it)"*"offsets        with --json"* ]]
    rows
    run --separate-stderr tenon plan --intervals f.csv
    [[ $output == *"lower bound    0 bytes"* && $output != *"of it"* ]]
}

@test "intervals: a capacity that is not reached is 5, with the best plan" {
    rows a,0,2,64 b,1,3,64
    run --separate-stderr tenon plan --intervals f.csv --json --capacity 127
    [ "$status" -eq 5 ]
    right f.csv
    [[ $stderr == *"capacity of 127 bytes"*"the best peak is 128, the lower bound 128; there is none" ]]
    for capacity in 128 9223372036854775807; do
        run --separate-stderr tenon plan --intervals f.csv --json --capacity $capacity
        [ "$status" -eq 0 ] && [ -z "$stderr" ]
        right f.csv
    done
}

@test "intervals: what may find a better plan is told by whether there was a time limit" {
    python3 "$BATS_TEST_DIRNAME/../support/planted.py" pinwheel 2000 1 >f.csv
    run --separate-stderr tenon plan --intervals f.csv --json --capacity $((1 << 20)) --time-limit 0
    [ "$status" -eq 5 ]
    [[ $stderr == *"the lower bound 1048576; a --time-limit above 0 may find one" ]]
    run --separate-stderr tenon plan --intervals f.csv --json --capacity $((1 << 20)) --time-limit 1
    [ "$status" -eq 5 ]
    [[ $stderr == *"the lower bound 1048576; a longer --time-limit may find one" ]]
}

@test "intervals: what is wrong is told with its line, and what would be right" {
    fails() { local words=$1; shift; rows "$@"; fails_with 6 "$words" tenon plan --intervals f.csv --json; }
    fails "f.csv:2: lower 2 is not below upper 2" a,2,2,1
    fails "f.csv:3: lower 3 is not below upper -2" a,0,2,1 b,3,-2,1
    fails "f.csv:2: size -1 is below 0" a,0,1,-1
    fails "f.csv:2: size '18446744073709551616' is no whole number from 0 to 9223372036854775807" a,0,1,18446744073709551616
    fails "f.csv:3: the sizes up to here are together more than 9223372036854775807 bytes" a,0,1,9223372036854775807 b,5,6,1
    fails "f.csv:2: upper '9223372036854775808' is no whole number" a,0,9223372036854775808,1
    fails "f.csv:2: lower '' is no whole number" a,,1,1
    fails "f.csv:2: upper 'x\\x1b[0m' is no whole number" "$(printf 'a,0,x\e[0m,1')"
    fails "f.csv:2: size '1.5' is no whole number" a,0,1,1.5
    fails "f.csv:4: 3 fields, 4 are expected" a,0,1,1 "" b,0,1
    fails "f.csv:2: 5 fields, 4 are expected" a,0,1,1,1
    printf '%s\na,0,1\0,1\n' "$HEADER" >f.csv
    fails_with 6 "f.csv:2: a byte that is 0" tenon plan --intervals f.csv
    fails "f.csv:2: 1 field, 4 are expected: as many as there are columns" a
    fails "f.csv:2: size '\"1\"' is no whole number from 0 to 9223372036854775807; quotes are not understood" 'a,0,1,"1"'
    fails "f.csv:2: lower 'b\"' is no whole number from -9223372036854775808 to 9223372036854775807; quotes are" '"a,b",0,1,1'
    printf '"lower","upper","size"\n0,1,1\n' >f.csv
    fails_with 6 "f.csv:1: '\"lower\"' is no column; the first line names lower, upper, size and, if wanted, id; quotes are not understood" \
        tenon plan --intervals f.csv
    echo lower,upper,Size >f.csv
    fails_with 6 "f.csv:1: 'Size' is no column" tenon plan --intervals f.csv
    echo lower,upper,size,kind >f.csv
    fails_with 6 "f.csv:1: 'kind' is no column" tenon plan --intervals f.csv
    : >f.csv
    fails_with 6 "f.csv:1: the file is empty; a line 'lower,upper,size' and" tenon plan --intervals f.csv
    echo a,0,1,1 >f.csv
    fails_with 6 "f.csv:1: 'a' is no column; the first line names lower, upper, size and, if wanted, id" tenon plan --intervals f.csv
    echo id,lower,upper >f.csv
    fails_with 6 "f.csv:1: the column 'size' is missing; the first line names lower, upper, size and, if wanted, id" \
        tenon plan --intervals f.csv
    echo id,lower,upper,size,size >f.csv
    fails_with 6 "f.csv:1: the column 'size' is there twice" tenon plan --intervals f.csv
    fails_with 6 "missing.csv: No such file or directory" tenon plan --intervals missing.csv
    fails_with 6 "Is a directory" tenon plan --intervals .
    fails_with 2 "/dev/zero has more than 64 MiB" tenon plan --intervals /dev/zero
    rows a,0,1,9223372036854775744 b,0,1,7
    fails_with 5 "f.csv: the sizes, rounded up to multiples of 64, are together more than 9223372036854775807" tenon plan --intervals f.csv --align 64
}

@test "intervals: a million rows are read as they come, and take memory as they do" {
    seq 0 999999 | awk 'BEGIN { print "id,lower,upper,size" } { print $1 "," $1 "," $1 + 30 ",64" } END { print "end,1,0,64" }' >m.csv
    fails_with 6 "m.csv:1000002: lower 1 is not below upper 0" tenon plan --intervals m.csv
    ! grep -q __asan_init "$TENON" || skip "sanitizer"
    bytes=$(stat -c %s m.csv)
    fails_with 6 "m.csv:1000002: lower" bash -c "ulimit -v $((60000 + 10 * bytes / 1024)); exec \"\$TENON\" plan --intervals m.csv"
    fails_with 5 "not enough memory" bash -c "ulimit -v $((25000 + bytes / 1024)); exec \"\$TENON\" plan --intervals m.csv"
}

@test "a model: devices, graphs and what lives at the peak add up" {
    for batch in 1 512; do
        run --separate-stderr tenon plan austen --batch "$batch" --json --check --device cpu0
        [ "$status" -eq 0 ]
        python3 - "$output" "$batch" <<'PY'
import json, sys
o, batch = json.loads(sys.argv[1]), int(sys.argv[2])
assert o["schema_version"] == 1 and len(o["devices"]) == 1 and o["checked"]
assert [g["tokens"] for g in o["graphs"]] == [t for t in (1, 32, 256) if t <= batch]
assert o["batch_tokens"] == min(256, batch)
d, plan = o["devices"][0], o["graphs"][-1]["plans"][0]
assert d["name"] == plan["device"] == "cpu0"
for key in ("peak_bytes", "lower_bound_bytes", "unshared_bytes", "in_place_saved_bytes", "packing_saved_bytes"):
    assert d[key] == plan[key], key
assert d["peak_bytes"] == d["unshared_bytes"] - d["in_place_saved_bytes"] - d["packing_saved_bytes"]
assert d["gap_bytes"] == d["peak_bytes"] - d["lower_bound_bytes"] == 0 and plan["proved_optimal"]
assert d["capacity_bytes"] > d["needed_bytes"] == d["peak_bytes"] + d["state_bytes"] + d["weight_copied_bytes"]
live = o["live_at_peak"]
assert sum(v["bytes"] for v in live) == d["lower_bound_bytes"]
assert all(v["tokens"] == o["batch_tokens"] and v["device"] == "cpu0" for v in live)
assert [v["bytes"] for v in live] == sorted((v["bytes"] for v in live), reverse=True)
for a in live:   # all at one time, so nowhere together
    assert a["offset"] + a["bytes"] <= d["peak_bytes"]
    assert a["first_step"] <= plan["peak_step"]
    assert all(a is b or a["offset"] + a["bytes"] <= b["offset"] or b["offset"] + b["bytes"] <= a["offset"] for b in live)
PY
    done
}

@test "a model: the context is that of --ctx, the batch that of run" {
    run --separate-stderr tenon plan austen --json
    [ "$(json 'o["batch_tokens"], o["context_tokens"], o["devices"][0]["state_bytes"]')" = "(256, 256, 524288)" ]
    run --separate-stderr tenon plan austen --json --ctx 64 --kv-type f32
    [ "$(json 'o["batch_tokens"], o["context_tokens"], o["devices"][0]["state_bytes"]')" = "(64, 64, 262144)" ]
}

# The same count as run has, and nothing of the model left out: planned_of OPTION…
planned_of() {
    run --separate-stderr tenon run austen Bath -n 1 --greedy --json "$@"
    json 'o["memory"]["planned_bytes"], o["memory"]["mapped_bytes"]'
}

@test "a model: what is needed is counted as run counts it, mapped or not" {
    file=$(stat -Lc %s "$(dirname "$(dirname "$TENON")")/share/tenon/models/austen.gguf")
    planned=$(planned_of --device cpu0)
    run --separate-stderr tenon plan austen --json --device cpu0
    [ "$(json 'o["needed_bytes"], o["mapped_bytes"]')" = "$planned" ]
    [ "$(json 'o["needed_bytes"] == o["devices"][0]["needed_bytes"]')" = True ]
    mapped=$(json 'o["devices"][0]["weight_mapped_bytes"]')
    [ "$mapped" -gt 3000000 ]
    planned=$(planned_of --device cpu0 --no-mmap)
    run --separate-stderr tenon plan austen --json --device cpu0 --no-mmap
    [ "$(json 'o["needed_bytes"], o["mapped_bytes"]')" = "$planned" ]
    planned=$(planned_of --device cpu0 --no-mmap --no-repack)
    run --separate-stderr tenon plan austen --json --device cpu0 --no-mmap --no-repack
    [ "$(json 'o["needed_bytes"], o["mapped_bytes"]')" = "$planned" ]
    [ "$(json 'o["devices"][0]["weight_mapped_bytes"], o["devices"][0]["weight_copied_bytes"]')" = "(0, $mapped)" ]
    # Behind the weights, what else is in the file.
    [ "$(json 'o["needed_bytes"] - o["devices"][0]["needed_bytes"]')" = $((file - mapped)) ]
}

@test "a model: a batch that is cut to the context is told" {
    run --separate-stderr tenon plan austen --batch 300 --json
    [ "$status" -eq 0 ] && [ "$(json 'o["batch_tokens"]')" = 256 ]
    [[ $stderr == "tenon: --batch 300 is planned as 256: there are no more in a context of 256 tokens" ]]
    run --separate-stderr tenon plan austen --batch 512 --ctx 8
    [[ $stderr == "tenon: --batch 512 is planned as 8: there are no more in a context of 8 tokens" ]]
    run --separate-stderr tenon plan austen --batch 8 --ctx 8
    [ -z "$stderr" ]
}

@test "a model: in words, a device on which nothing runs, and one of each" {
    run --separate-stderr tenon plan austen --ctx 1 -t 1 --set plugin.cpu.devices=2
    [ "$status" -eq 0 ]
    [[ $output == "austen: llama, a context of 1 token, 1 at once, 1 thread"*"live at the peak on cpu0: 1 token, step"* ]]
    [ "$(grep cpu1 <<<"$output")" = "cpu1: nothing runs here" ]
    run --separate-stderr tenon plan austen --ctx 1 -t 1 --set plugin.cpu.devices=2 --json
    [ "$(json 'o["threads"], len(o["devices"])')" = "(1, 2)" ]
}

@test "a model: in words" {
    run --separate-stderr tenon plan austen --check -t 2
    [ "$status" -eq 0 ]
    [[ $output =~ step\ [0-9]+\ of\ 39,\ \'[a-z0-9._]+\' ]]
    [[ $output =~ needed\ +[0-9]{7}\ +5\.[0-9]\ MiB ]]
    [[ $output == "austen: llama, a context of 256 tokens, 256 at once, 2 threads"*"cpu0, bytes"*"lower bound"*"capacity"*"live at the peak on cpu0: 256 tokens, step "*"scratch of "*"checked: "* ]]
}

@test "plan: what does not go together, or is not there, is told" {
    rows a,0,1,1
    fails_with 2 "plan takes MODEL or --intervals FILE" tenon plan
    fails_with 2 "'austen' and --intervals are given, take one" tenon plan austen --intervals f.csv
    fails_with 2 "--capacity, --time-limit and --align are of --intervals" tenon plan austen --align 64
    fails_with 2 "--batch is of a model, not of --intervals" tenon plan --intervals f.csv --batch 1
    fails_with 2 "plan: -t is of a model, not of --intervals" tenon plan -t 2 --intervals f.csv
    fails_with 2 "plan: --threads is of a model, not of --intervals" tenon plan --intervals f.csv --threads=2
    fails_with 2 "MODEL is an empty word: a model is the path of a GGUF file, or 'austen'" tenon plan ''
    fails_with 2 "a whole number from 1 to 9223372036854775807 is" tenon plan --intervals f.csv --capacity 9223372036854775808
    fails_with 2 "--plugin is of a model" tenon plan --intervals f.csv --plugin x
    fails_with 2 "--align '3': a power of two is expected" tenon plan --intervals f.csv --align 3
    fails_with 2 "--intervals names no file" tenon plan --intervals ""
    fails_with 2 "a whole number from 1 to 512 is expected" tenon plan austen --batch 513
    fails_with 2 "a whole number from 1 to" tenon plan --intervals f.csv --capacity 0
    fails_with 3 "there is no device 'nope0'" tenon plan austen --device nope0
    fails_with 6 "No such file" tenon plan missing.gguf
    fails_with 6 "f.csv" tenon plan f.csv
}

# on DEVICES ARGUMENT…: tenon plan, with these simulated devices.
on() { tenon plan "${@:2}" --plugin "$TENON_TEST_PLUGINS/sim.so" --set "plugin.sim.devices=$1"; }

@test "a model: segments, copies and costs of each graph add up" {
    run --separate-stderr on '[{"name":"a","except":["rms_norm","mul"]}]' austen --json
    [ "$status" -eq 0 ] && [ -z "$stderr" ]
    python3 - "$output" <<'PY'
import json, sys
o = json.loads(sys.argv[1])
assert [d["name"] for d in o["devices"]] == ["a", "cpu0"]
of_largest = o["graphs"][-1]
for key in ("segments", "copies", "cost_ns", "bound_ns", "gap_ns", "greedy_ns", "greedy_fits", "method", "cost_proved_optimal"):
    assert o[key] == of_largest[key], key
for g in o["graphs"]:
    assert sum(s["steps"] for s in g["segments"]) == g["steps"] <= sum(s["nodes"] for s in g["segments"])
    cost = sum(s["cost_ns"] for s in g["segments"]) + sum(c["cost_ns"] for c in g["copies"])
    assert abs(cost - g["cost_ns"]) < 1e-4 * cost, (cost, g["cost_ns"])
    assert g["bound_ns"] <= g["cost_ns"] <= g["greedy_ns"] and g["cost_proved_optimal"]
    assert abs(g["gap_ns"] - (g["cost_ns"] - g["bound_ns"])) < 1
    for s in g["segments"][1::2]:
        assert s["device"] == "cpu0" and s["why"] == "unsupported", s
        assert s["reason"] == f"unsupported: a refused rms_norm '{s['first_node']}': this device has no rms_norm"
    for s in g["segments"][2::2]:
        assert s["device"] == "a" and s["reason"].startswith("cost: "), s
    for c in g["copies"]:
        assert {c["from"], c["to"]} == {"a", "cpu0"} and g["segments"][c["segment"]]["device"] == c["to"] and c["bytes"] > 0
assert [c["bytes"] for c in o["copies"]][:2] == [256 * 256 * 4] * 2
PY
}

@test "a model: boundaries in words, each reason once" {
    run --separate-stderr on '[{"name":"a","except":["rms_norm","mul"]}]' austen --batch 1
    [[ $output == *"  tokens  segments  copies  copied bytes "*"1 token: 19 segments, 18 copies of 18432 bytes, "* ]]
    [ "$(grep -c "     9 begin unsupported: a refused rms_norm 'blk.0.attn_norm': this device has no rms_norm" <<<"$output")" = 1 ]
    [ "$(grep -c "copy a to cpu0, 1024 bytes" <<<"$output")" = 9 ]
    run --separate-stderr tenon plan austen --device cpu0
    [[ $output != *"begin"* ]]
}

@test "a model: --explain of a node, an op, a device, and of what is not there" {
    run --separate-stderr on '[{"name":"a","except":["rope"]}]' austen --explain rope
    [ "$status" -eq 0 ]
    [[ $output == *"op rope: 8 nodes"*"a refused 8, "*" the first: this device has no rope"* ]]
    run --separate-stderr on '[{"name":"a"}]' austen --explain blk.1.attn_q
    [[ $output == "node 'blk.1.attn_q': matmul"*", chosen"*"  on a because"*"on cpu0 the whole would cost"*"blk.1.attn_q.weight"* ]]
    run --separate-stderr on '[{"name":"a"}]' austen --explain a
    [[ $output == "device a: a, "*"gets 72 of 72 nodes in 1 segment"* ]]
    fails_with 2 "--explain: no node, value, output, op or device has the name 'blk.1.attnq'; near it are 'blk.1.attn_q'" tenon plan austen --explain blk.1.attnq
    fails_with 2 "--explain and --json are given" tenon plan austen --explain a --json
    fails_with 2 "--explain is of a model" tenon plan --intervals f.csv --explain a
}

@test "a model: --explain of what is divided tells of all its parts" {
    local mode name
    for mode in row tensor; do
        run --separate-stderr on '[{"name":"a"},{"name":"b"}]' austen -sm $mode --explain blk.3.attn_q
        [ "$status" -eq 0 ] && [ -z "$stderr" ]
        [ "$(grep -o "^node '[^']*': matmul of layer 3, step [0-9]* of [0-9]*, on [ab]" <<<"$output" | sed 's/, step.*,/,/')" = \
            "node 'blk.3.attn_q.part0': matmul of layer 3, on a
node 'blk.3.attn_q.part1': matmul of layer 3, on b" ]
    done
    for name in blk.3.attn k.3 token_embd output blk.0.ffn_down; do
        run --separate-stderr on '[{"name":"a"},{"name":"b"}]' austen -sm tensor --explain $name
        [ "$status" -eq 0 ]
        [[ $output == *" '$name.part0': "*" '$name.part1': "* ]]
    done
    run --separate-stderr on '[{"name":"a"},{"name":"b"}]' austen -sm tensor --explain blk.3.attn_q.part1
    [[ $output == "node 'blk.3.attn_q.part1': "* ]]
    run --separate-stderr on '[{"name":"a"},{"name":"b"}]' austen -sm tensor -ts 0,1 --explain blk.3.attn_q   # one of them has all
    [[ $output == "node 'blk.3.attn_q.part1': "* ]]
    fails_with 2 "has the name 'blk.3.attnq'" on '[{"name":"a"},{"name":"b"}]' austen -sm tensor --explain blk.3.attnq
}

@test "a model: --explain of an output" {
    run --separate-stderr tenon plan austen --explain logits
    [[ $output == "output 'logits': value 'output': F32 "* ]]
}

@test "a model: boundaries that were ordered, or for lack of memory" {
    begins() { grep -E '^ +[0-9]+ begins? ' <<<"$output" | sed 's/^ *//'; }
    run --separate-stderr on '[{"name":"a"}]' austen --batch 1 --gpu-layers 2
    [ "$(begins)" = "1 begins layer: layer 3, with 'blk.3.attn_norm', was given to a" ]
    run --separate-stderr on '[{"name":"a"}]' austen --batch 1 --override-tensor 'blk.2.ffn.*=cpu0'
    [[ $(begins) == "1 begins pin: 'blk.2.ffn_norm', or what it touches, is pinned to cpu0"* ]]
    run --separate-stderr on '[{"name":"a","memory_bytes":2500000}]' austen --batch 1
    [[ $(begins) == *"begins memory: there is no room for '"*"' on a"* ]]
    run --separate-stderr on '[{"name":"a"}]' austen --batch 1 --gpu-layers 2 --explain blk.3.attn_q
    [[ $output == *"  on a because"*"    its layer was given to it"* ]]
    run --separate-stderr on '[{"name":"a"}]' austen --batch 1 --gpu-layers 2 --json
    [ "$(json '[s["why"] for s in o["segments"]]')" = "['first', 'layer']" ]
}

@test "SIGINT ends it at once with 130, and nothing is printed" {
    python3 - >many.csv <<'PY'
import random
random.seed(3)   # of so many no plan is proved optimal for a long while
print("lower,upper,size")
for begin in [random.randrange(2000) for _ in range(6000)]:
    print(f"{begin},{begin + random.randrange(1, 2000)},{random.randrange(1, 10**6)}")
PY
    run --separate-stderr bash -c '"$TENON" plan --intervals many.csv --json --time-limit 60000 & sleep 0.5; kill -INT $!; wait $!'
    [ "$status" -eq 130 ]
    [ -z "$output$stderr" ]
}
