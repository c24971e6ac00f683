#!/usr/bin/env bats
# tenon bench: what it measures, and what it refuses. Speeds themselves are not looked at.
bats_require_minimum_version 1.5.0
load common

@test "prompts and new tokens for each number of threads" {
    run tenon bench austen -p 16,3 -n 4 -t 1,2 -r 2
    [ "$status" -eq 0 ]
    [ "$(grep -cE '^(pp16|pp3|tg4) +[12] ' <<<"$output")" -eq 6 ]
    [[ $output == *"GB/s are read"* ]]
}

@test "JSON: fixed fields, numbers that belong together" {
    run tenon bench austen -p 16 -n 4 -t 2,1 -r 3 --ctx-depth 10 --json
    [ "$status" -eq 0 ]
    python3 - "$output" <<'PY'
import json, sys
o = json.loads(sys.argv[1])
assert o["schema_version"] == 1 and o["cpu"] and o["model"] == "austen" and o["repetitions"] == 3
assert [(r["test"], r["threads"]) for r in o["results"]] == [("pp16", 2), ("tg4", 2), ("pp16", 1), ("tg4", 1)]
for r in o["results"]:
    assert 0 < r["mean"] <= r["best"] and 0 <= r["stddev"] and r["depth"] == 10
    assert r["bytes_per_token"] > 0 and r["operations_per_token"] > 0
    assert r["bandwidth_share"] > 0 and r["arithmetic_share"] > 0
assert [m["threads"] for m in o["machine"]] == [2, 1]
assert all(m["load_ms"] > 0 and m["read_gbps"] > 0 and m["fp32_gflops"] > 0 for m in o["machine"])
assert o["peak_resident_bytes"] > 1e6
# A new token reads all weights; the tokens of a prompt share them.
pp, tg = o["results"][:2]
assert tg["bytes_per_token"] > 8 * pp["bytes_per_token"]
PY
}

@test "one repetition has no deviation; 0 leaves a kind of test out" {
    run tenon bench austen -p 0 -n 2 -t 1 -r 1 --json
    [ "$status" -eq 0 ]
    [ "$(json '[(r["test"], r["stddev"]) for r in o["results"]]')" = "[('tg2', 0.0)]" ]
}

@test "what cannot be measured is refused in one line" {
    fails_with 2 "nothing to measure" tenon bench austen -p 0 -n 0
    fails_with 2 "the context has 256: --ctx sets it" tenon bench austen -p 200 -n 1 --ctx-depth 100
    fails_with 2 "-p: whole numbers from 0 to 1048576 separated by commas or spaces are expected, not 'x'" \
        tenon bench austen -p x
    fails_with 2 "-t: whole numbers from 1 to 1024" tenon bench austen -t 1,0
    fails_with 2 "--threads: whole numbers from 1 to 1024" tenon bench austen --threads=1,0
    fails_with 2 "not '-3'" tenon bench austen -n -3
    fails_with 2 "not ''" tenon bench austen -p ''
    fails_with 6 "No such file" tenon bench nothing.gguf
    fails_with 3 "--device: there is no device 'gpu7'" tenon bench austen --device gpu7
}

# on DEVICES ARGUMENT…: a short bench with these devices.
on() {
    local devices=$1
    shift
    tenon bench austen -p 4 -n 3 -r 2 -t 1 --plugin "$TENON_TEST_PLUGINS/sim.so" --set "plugin.sim.devices=$devices" "$@"
}

@test "the devices that a test ran on are named" {
    run --separate-stderr on '[{"name":"a","except":["get_rows"]}]' --device a,cpu0
    [ "$status" -eq 0 ] && [ -z "$stderr" ]
    [[ $output == *"devices          a, of plugin sim: "*"                 cpu0, of plugin cpu: "* ]]
    [ "$(grep -cE '^(pp4|tg3) .* a,cpu0$' <<<"$output")" -eq 2 ]
    run --separate-stderr on '[{"name":"a"},{"name":"b"}]' --device b --json
    [ "$(json '[d["name"] for d in o["devices"]], [r["devices"] for r in o["results"]], [r["events"] for r in o["results"]]')" = \
        "(['b'], [['b'], ['b']], [[], []])" ]
}

@test "a device that fails meanwhile marks the test, and --no-failover ends there" {
    local lost='[{"name":"a","fail":{"call":"queue_submit","at":6,"lost":true}}]'
    run --separate-stderr on "$lost"
    [ "$status" -eq 0 ]
    [[ $stderr == *"a is left out"* ]]
    [ "$(grep -cE '^pp4 .* a$' <<<"$output")" -eq 1 ]
    [ "$(grep -cE '^tg3 .* cpu0  \(a device failed\)$' <<<"$output")" -eq 1 ]
    [[ $output == *"the devices are those that were left"* ]]
    run --separate-stderr on "$lost" --json
    [ "$(json '[(r["devices"], [(e["kind"], e["device"]) for e in r["events"]]) for r in o["results"]]')" = \
        "[(['a'], []), (['cpu0'], [('left_out', 'a'), ('repeated', None)])]" ]
    fails_with 7 "call 6 of device a fails" on "$lost" --no-failover
    fails_with 7 "call 6 of device a fails" on "$lost" --no-failover --json
    # Before the first test: the depth is filled then.
    run --separate-stderr on '[{"name":"a","fail":{"call":"queue_submit","at":1,"lost":true}}]' --ctx-depth 8 --json
    [ "$(json '[e["kind"] for e in o["machine"][0]["events"]], [r["events"] for r in o["results"]]')" = "(['left_out', 'repeated'], [[], []])" ] ||
        [ "$(json '[e["kind"] for e in o["machine"][0]["events"]], [r["events"] for r in o["results"]]')" = "(['left_out'], [[], []])" ]
}

# Interrupted when the first test is over: later and later, since nobody knows how fast the machine is.
interrupted_behind_one() {
    for seconds in 2 6 20; do
        run --separate-stderr bash -c '"$TENON" bench austen -p 1,2 -n 200 -r 1000 -t 1 --ctx 256 "${@:2}" & sleep "$1"; kill -INT $!; wait $!' - \
            "$seconds" "$@"
        [ -z "$output" ] || break
    done
    [ "$status" -eq 130 ]
}

@test "SIGINT: the tests that were done are printed, before the first one nothing is; 130" {
    interrupted_behind_one
    [ "$(grep -cE '^pp[12] ' <<<"$output")" -ge 1 ]
    [[ $output != *tg200* && $output == *"was not measured"* ]]
    [[ $stderr == *"tenon: interrupted behind "[12]" of 3 tests" ]]
    interrupted_behind_one --json
    [ "$(json 'o["interrupted"], o["results"][0]["test"]')" = "(True, 'pp1')" ]
    run --separate-stderr bash -c '"$TENON" bench austen -p 250 -n 0 -r 1000 -t 1 --ctx 256 & sleep 0.5; kill -INT $!; wait $!'
    [ "$status" -eq 130 ]
    [ -z "$output$stderr" ]
}
