#!/usr/bin/env bats
# tenon tune, on simulated devices: their virtual clock is what counts.
bats_require_minimum_version 1.5.0
load common

DEVICES='[{"name":"a","peer":true,"gflops":200,"link_gbps":4,"latency_us":20},{"name":"b","peer":true}]'

# on ARGUMENT…: the command with these devices.
on() { tenon "$@" --plugin "$TENON_TEST_PLUGINS/sim.so" --set "plugin.sim.devices=$DEVICES"; }

@test "a table: products of each device, links, and where it is kept" {
    run --separate-stderr on tune --size 256 --device a,b
    [ "$status" -eq 0 ] && [ -z "$stderr" ]
    [[ $output == "a: its claims count 1.000 times, a submit takes "*"  F32            1 "*"  Q4_K         128 "*"kept at $XDG_CACHE_HOME/tenon/tune/"*"b: its claims"* ]]
    [[ $output =~ a\ +host\ +20\.000\ us\ +4\.0\ +20\.000\ us,\ 4\.0\ GB/s ]]
    [[ $output =~ b\ +a\ +20\.000\ us\ +4\.0 ]]
    [ "$(find "$XDG_CACHE_HOME/tenon/tune" -type f | wc -l)" = 2 ]
    [ "$(stat -c %a "$XDG_CACHE_HOME/tenon/tune")" = 700 ]
}

@test "JSON; --dry-run keeps nothing" {
    run --separate-stderr on tune --size 256 --device a --json --dry-run
    [ "$status" -eq 0 ] && [ -z "$stderr" ]
    python3 - "$output" <<'PY'
import json, sys
o = json.loads(sys.argv[1])
assert o["schema_version"] == 1 and len(o["devices"]) == 1
d = o["devices"][0]
assert d["name"] == "a" and d["kept_at"] is None and abs(d["claim_factor"] - 1) < 0.001 and d["submit_ns"] > 0
assert [(p["dtype"], p["columns"]) for p in d["products"]] == [(t, c) for t in ("F32", "F16", "Q8_0", "Q4_0", "Q4_K") for c in (1, 128)]
for p in d["products"]:
    if p["columns"] == 128:   # arithmetic at 200 GFLOPS, and 100 ns
        assert abs(p["ns"] - (2 * 256 * 256 * 128 / 200 + 100)) < 10, p
assert [(l["from"], l["to"]) for l in o["links"]] == [("a", "host"), ("host", "a")]
for l in o["links"]:
    assert abs(l["latency_ns"] - 20000) < 200 and abs(l["bytes_per_s"] - 4e9) < 4e7, l
    assert l["told_latency_ns"] == 20000 and l["told_bytes_per_s"] == 4e9, l
PY
    [ ! -e "$XDG_CACHE_HOME/tenon/tune" ]
}

@test "plan says which costs were measured" {
    figures() { json '[(d["name"], d["measured"]) for d in o["devices"]], sorted({(l["from"], l["to"], l["known_by"]) for l in o["links"]})[:2]'; }
    run --separate-stderr on plan austen --json --device a,b
    [ "$(figures)" = "([('a', False), ('b', False)], [('a', 'b', 'plugin'), ('b', 'a', 'plugin')])" ]
    on tune --size 256 --device a,b >/dev/null
    run --separate-stderr on plan austen --json --device a,b
    [ "$(figures)" = "([('a', True), ('b', True)], [('a', 'b', 'measured'), ('b', 'a', 'measured')])" ]
    run --separate-stderr on plan austen --device a
    [[ $output == *"  claims of a count 1.000 times, as measured"* && $output != *"tenon tune"* ]]
    DEVICES=${DEVICES/'"name":"b"'/'"name":"b","except":["rms_norm","mul"]'}
    run --separate-stderr on plan austen --device a,b
    [[ $output == *"  claims of all count as they are made: tenon tune measures them"*"  b to a: latency 20.000 us, 4.0 GB/s, as the plugin says"* ]]
}

@test "a damaged file is ignored with a warning" {
    on tune --size 256 --device a,b >/dev/null
    for file in "$XDG_CACHE_HOME"/tenon/tune/*; do sed -i s/submit_ns/submit_ms/ "$file"; done
    run --separate-stderr on plan austen --json --device a
    [ "$status" -eq 0 ] && [ "${#stderr_lines[@]}" -eq 1 ]
    [[ $stderr == *"a: what was measured of it is ignored: $XDG_CACHE_HOME/tenon/tune/"*": it is damaged" ]]
    [ "$(json 'o["devices"][0]["measured"]')" = False ]
}

@test "of a device of which no product and no copy could be measured the submit is kept" {
    DEVICES='[{"name":"a","memory_bytes":30000},{"name":"b","except":["matmul"]}]'
    run --separate-stderr on tune --size 256 --device a,b
    [ "$status" -eq 0 ]
    [ "$stderr" = "tenon: warning: no product could be measured: no device takes one of 256 rows and columns, or has room for it; see --size" ]
    [[ $output == *"a: no product could be measured, its claims count as it says, a submit takes "*"  kept at "*"b: no product"*"  kept at "* ]]
    run --separate-stderr on tune --size 256 --device a,b --json
    [ "$(json '[(d["kept_at"] is None, d["products"], d["claim_factor"]) for d in o["devices"]]')" = "[(False, [], 1.0), (False, [], 1.0)]" ]
    [ "$(find "$XDG_CACHE_HOME/tenon/tune" -type f | wc -l)" = 2 ]
    run --separate-stderr on tune --size 256 --device a
    [ "$status" -eq 3 ]
    [[ $stderr == "tenon: no product and no copy could be measured: "* ]]
    run --separate-stderr on plan austen --device b,cpu0 --json
    [ "$(json '[d["measured"] for d in o["devices"] if d["name"] == "b"]')" = "[False]" ]
}

@test "every device that fails is told, and the others are measured" {
    DEVICES='[{"name":"a"},{"name":"b","fail":{"call":"work","at":9}},{"name":"d","memory_bytes":64}]'
    run --separate-stderr on tune --size 256 --device a,b,d --dry-run
    [ "$status" -eq 5 ]
    [[ $output == "a: its claims count"* && $output != *$'\n'[bd]:* ]]
    [[ $stderr == *"tenon: d: 128 bytes are needed"*"may be used"* && $stderr == *"warning: tune: b: "* ]]
}

@test "for a size that no device has room for no data is made" {
    DEVICES='[{"name":"a","memory_bytes":100000000}]'
    # Writing its 16 GiB of weights takes longer.
    run --separate-stderr bash -c 'ulimit -t 8; exec "$@"' tune "$TENON" tune --size 32768 --device a --dry-run \
        --plugin "$TENON_TEST_PLUGINS/sim.so" --set "plugin.sim.devices=$DEVICES"
    [ "$status" -eq 0 ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ $stderr == *"no device takes one of 32768 rows and columns, or has room for it; see --size" ]]
}

@test "SIGINT ends it at once with 130, and nothing is printed or kept" {
    run --separate-stderr bash -c '"$TENON" tune --size 8192 --device cpu0 -t 1 & sleep 0.7; kill -INT $!; wait $!'
    [ "$status" -eq 130 ]
    [ -z "$output" ] && [ -z "$stderr" ]
    [ ! -e "$XDG_CACHE_HOME/tenon/tune" ]
}

@test "what cannot be is told" {
    fails_with 2 "--size 300: a multiple of 256 is expected" tenon tune --size 300
    fails_with 2 "a whole number from 256 to 65536 is expected" tenon tune --size 1
    fails_with 3 "--device: there is no device 'x'" tenon tune --device x
    fails_with 2 "a is given twice" on tune --size 256 --device a,a
    XDG_CACHE_HOME=/proc run --separate-stderr on tune --size 256 --device a
    [ "$status" -eq 6 ]
    [ "${#stderr_lines[@]}" -eq 2 ]   # neither is what is found out about plugins kept
    [[ ${stderr_lines[1]} == *"/proc/tenon"* ]]
    XDG_CACHE_HOME= HOME= fails_with 6 "there is no place for a cache" on tune --size 256 --device a
    DEVICES='[{"name":"a","fail":{"call":"queue_copy"}}]' fails_with 7 "a: " on tune --size 256 --device a
}

@test "a device that fails is left out, and the others are measured and kept" {
    local code=0
    DEVICES='[{"name":"b"},{"name":"a","fail":{"call":"queue_submit","at":3,"lost":true}}]'
    on tune --size 512 --device b,a,cpu >text 2>told || code=$?
    [ "$code" = 7 ]
    grep -q '^tenon: a: ' told
    grep -q '^tenon: warning: what failed is left out, the others are measured$' told
    grep -q '^b: its claims count' text
    grep -q '^cpu0: its claims count' text
    run ! grep -q '^a\|  a ' text
    [ "$(grep -c '^  kept at ' text)" = 1 ]   # of the CPU nothing: it is too small a size
    grep -q '^tenon: warning: cpu0: weights of 512 rows and columns fit its caches, so what was measured is not kept; --size 4096 or more is$' told
    code=0
    on tune --size 512 --dry-run --json --device a,b >text 2>told || code=$?
    [ "$code" = 7 ]
    grep -q '"devices":\[{"name":"b",' text
}
