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
    fails_with 2 "--prompt: whole numbers from 0 to 1048576 separated by commas or spaces are expected, not 'x'" \
        tenon bench austen -p x
    fails_with 2 "--threads: whole numbers from 1 to 1024" tenon bench austen -t 1,0
    fails_with 2 "not '-3'" tenon bench austen -n -3
    fails_with 2 "not ''" tenon bench austen -p ''
    fails_with 6 "No such file" tenon bench nothing.gguf
    fails_with 3 "there is no device 'gpu7'" tenon bench austen --device gpu7
}
