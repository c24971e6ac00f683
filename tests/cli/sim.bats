#!/usr/bin/env bats
# The command on simulated devices (tests/plugins/sim).
bats_require_minimum_version 1.5.0
load common

# on DEVICES COMMAND…: the command, with these devices.
on() {
    local devices=$1
    shift
    tenon "$@" --plugin "$TENON_TEST_PLUGINS/sim.so" --set "plugin.sim.devices=$devices"
}

write() { on "$1" run austen "It is a truth" -n 12 --greedy --ctx 64 "${@:2}"; }

@test "simulated devices are listed under their names" {
    run --separate-stderr on '[{"name":"a","memory_bytes":4e9},{},{"name":"fast-one","kind":"accelerator"}]' devices
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    [ "${#lines[@]}" -eq 4 ]
    [[ ${lines[0]} == a\ *gpu*3.7\ GiB* ]]
    [[ ${lines[1]} == sim1\ *gpu*16.0\ GiB* ]]
    [[ ${lines[2]} == fast-one\ *accelerator* ]]
    [[ ${lines[3]} == cpu0\ * ]]
    run --separate-stderr on '[{"name":"a","memory_bytes":6e7},{"name":"b","memory_bytes":12e7}]' devices
    [[ ${lines[0]} == a\ *\ 57.2\ MiB* && ${lines[1]} == b\ *\ 114.4\ MiB* ]]
    run --separate-stderr on '[{"name":"a","gflops":2000}]' devices --json
    [ "$(json 'o["devices"][0]["name"], o["devices"][0]["plugin"], o["devices"][1]["name"]')" = "('a', 'sim', 'cpu0')" ]
}

@test "a model gives the same text on simulated devices as on the CPU" {
    tenon run austen "It is a truth" -n 12 --greedy --ctx 64 >cpu
    write '[{"name":"a"}]' --device a >text
    cmp cpu text
    write '[{"name":"a","except":["rope"]},{"name":"b","host_visible":false}]' --device a,b >text
    cmp cpu text
    write '[{"name":"a","except":["get_rows","set_rows"],"host_visible":false,"max_alloc_bytes":1200000}]' >text
    cmp cpu text
    write '[{"name":"a","order":"late"}]' --device a >text
    cmp cpu text
}

@test "a warning begins a line of its own on the terminal where the text is, and no other" {
    write '[{"name":"a","fail":{"call":"queue_submit","at":6,"lost":true}}]' >text 2>told
    head -c 20 text | grep -q . && [ "$(wc -l <text)" = 1 ]
    export -f write on tenon
    export TENON TENON_TEST_PLUGINS
    # script runs its command by $SHELL; sh would drop the functions exported to bash.
    SHELL=$BASH script -qec "bash -c 'write \"\$0\"' '[{\"name\":\"a\",\"fail\":{\"call\":\"queue_submit\",\"at\":6,\"lost\":true}}]'" /dev/null \
        </dev/null | tr -d '\r' >seen
    [ "$(grep -c '^tenon: warning: ' seen)" = 2 ]
    [ "$(grep -v '^tenon: ' seen | tr -d '\n')" = "$(cat text)" ]
}

@test "rope in simpler ops gives the same text where a device lacks it" {
    tenon run austen "It is a truth" -n 12 --greedy --ctx 64 >cpu
    run --separate-stderr write '[{"name":"a","except":["rope"]}]' --explain
    [ "$status" -eq 0 ]
    [ "$output" = "$(cat cpu)" ]
    [[ $stderr == *"a refused it: this device has no rope"* ]]
}

@test "settings that are wrong: exit code 4, device and key in one line" {
    fails_with 4 "device 1 (b): 'memory' is no key: there are name, kind" on '[{"name":"a"},{"name":"b","memory":1}]' devices
    fails_with 4 "device 0 (a): memory_bytes: must be a whole number" on '[{"name":"a","memory_bytes":-1}]' devices
    fails_with 4 "device 1 (a): name: a is the name of device 0" on '[{"name":"a"},{"name":"a"}]' devices
    fails_with 4 "no JSON" on '[{"name":"a"' run austen a -n 1
    fails_with 4 "no JSON" on "$(printf '[%.0s' {1..5000})" devices
    fails_with 4 "sim.so: device_count: call 1 of device a fails" on '[{"name":"a","fail":{"call":"device_count"}}]' devices
    fails_with 4 "fail.call: must be one of" on '[{"fail":{"call":"run"}}]' devices
}

@test "memory that is too small: exit code 5, with needed and free bytes" {
    fails_with 5 "bytes are needed for weights, states and the arena" write '[{"name":"a","memory_bytes":4000000}]' --device a
    [[ $stderr =~ \ ([0-9]+)\ bytes.*,\ 4000000\ are\ free ]]
    [ "${BASH_REMATCH[1]}" -gt 4000000 ]
    fails_with 5 "bytes are needed for weights, states and the arena" on '[{"name":"a","memory_bytes":1000000}]' run austen a -n 1 --ctx 256 --kv-type f32 --device a
    fails_with 5 "the largest possible has 1984" write '[{"name":"a","max_alloc_bytes":2000}]' --device a
}

@test "a model goes on when a device fails, with the same text and a warning" {
    tenon run austen "It is a truth" -n 12 --greedy --ctx 64 >cpu
    run --separate-stderr write '[{"name":"a","fail":{"call":"queue_submit","at":6,"lost":true}}]'
    [ "$status" -eq 0 ]
    [ "$output" = "$(cat cpu)" ]
    [ "${#stderr_lines[@]}" -eq 2 ]
    [[ ${stderr_lines[0]} == "tenon: warning: a: submit: "*"the device is lost; a is left out" ]]
    [[ ${stderr_lines[1]} == "tenon: warning: 6 runs were repeated on cpu0" ]]
    run --separate-stderr write '[{"name":"a","fail":{"call":"work","at":300}},{"name":"b"}]' --device a,b
    [ "$status" -eq 0 ]
    [ "$output" = "$(cat cpu)" ]
    run --separate-stderr write '[{"name":"a","memory_bytes":1000000}]'
    [ "$status" -eq 0 ]
    [ "$output" = "$(cat cpu)" ]
    [ -z "$stderr" ]
}

@test "events are part of run --json" {
    run --separate-stderr write '[{"name":"a","fail":{"call":"queue_submit","at":6,"lost":true}}]' --json
    [ "$status" -eq 0 ]
    [ "$(json '[(e["kind"], e["device"], e["status"], e["run"], e["repeated_runs"]) for e in o["events"]]')" = \
        "[('left_out', 'a', 'TN_E_DEVICE_LOST', 6, 0), ('repeated', None, 'TN_OK', 6, 6)]" ]
    run --separate-stderr write '[{"name":"a"}]' --json
    [ "$(json 'o["events"]')" = "[]" ]
}

@test "run --json tells what there is when a device ends it" {
    run --separate-stderr write '[{"name":"a","fail":{"call":"queue_submit","at":6,"lost":true}}]' --no-failover --json
    [ "$status" -eq 7 ]
    [ "$(json 'o["finish_reason"], len(o["tokens"]), len(o["top_logits"]), o["error"]["exit_code"]')" = "('error', 5, 10, 7)" ]
    [ "tenon: $(json 'o["error"]["text"]')" = "$stderr" ]
    local text
    text=$(json 'o["text"]')
    [ -n "$text" ]
    [[ $(tenon run austen "It is a truth" -n 12 --greedy --ctx 64) == "$text"* ]]
    # Before the first logits: nothing of the text, but why.
    run --separate-stderr write '[{"name":"a","fail":{"call":"queue_submit","at":1}}]' --no-failover --json
    [ "$status" -eq 7 ]
    [ "$(json 'o["finish_reason"], o["tokens"], o["text"], o["top_logits"], o["timing"]["prefill_tokens_per_s"]')" = "('error', [], '', [], 0.0)" ]
    # The last device: what was tried is told too.
    run --separate-stderr write '[{"name":"a","fail":{"call":"queue_submit","at":6,"lost":true}}]' --device a --json
    [ "$status" -eq 7 ]
    [ "$(json 'o["finish_reason"], [e["kind"] for e in o["events"]]')" = "('error', ['stopped'])" ]
    run --separate-stderr write '[{"name":"a"}]' --json
    [ "$(json '"error" in o')" = False ]
}

# stops TEXT COMMAND…: within the text, with exit code 7; the last line on stderr ends with TEXT.
stops() {
    run --separate-stderr "${@:2}"
    [ "$status" -eq 7 ] || { echo "exit code $status: $stderr" >&2; return 1; }
    [[ $stderr == *"$1" ]] || { echo "$stderr" >&2; return 1; }
}

@test "--no-failover and devices that are named: exit code 7 at the first failure" {
    local fault='{"name":"a","fail":{"call":"queue_submit","at":6}}'
    stops 'a: submit: queue_submit: call 6 of device a fails, as it is told to' write "[$fault]" --no-failover
    fails_with 7 "a: open: call 1 of device a fails" write '[{"name":"a","fail":{"call":"open"}}]' --no-failover
    echo "It is a truth universally acknowledged" >text
    fails_with 7 "a: submit: queue_submit: call 1 of device a fails" on '[{"name":"a","fail":{"call":"queue_submit"}}]' perplexity austen text --no-failover
    stops 'a: submit: queue_submit: call 6 of device a fails, as it is told to: the device is lost' write \
        '[{"name":"a","fail":{"call":"queue_submit","at":6,"lost":true}}]' --device a
    stops 'call 9 of device b fails, as it is told to: the device is lost' write '[{"name":"a","fail":{"call":"queue_submit","at":6,"lost":true}},{"name":"b","fail":{"call":"queue_submit","at":9,"lost":true}}]' --device a,b
}

@test "a device that fails: its name, the call and the reason in one line" {
    fails_with 7 "a: compile: call 1 of device a fails, as it is told to" write '[{"name":"a","fail":{"call":"compile"}}]' --device a
    fails_with 7 "a: compile: a fault of the plugin, it claimed 'token_embd' to 'output' and refuses: " write \
        '[{"name":"a","fail":{"call":"compile","status":"UNSUPPORTED"}}]' --device a
    fails_with 7 "a: open: call 1 of device a fails" write '[{"name":"a","fail":{"call":"open","lost":true}}]' --device a
    run --separate-stderr write '[{"name":"a","fail":{"call":"queue_submit","at":6,"lost":true}}]' --device a
    [ "$status" -eq 7 ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ $stderr == *"a: submit: queue_submit: call 6 of device a fails, as it is told to: the device is lost" ]]
}

@test "whatever a device answers, the exit code is that of a device that failed" {
    local answer
    for answer in ARG UNSUPPORTED TIMEOUT IO VERSION DATA CANCELLED UNKNOWN; do
        fails_with 7 "a: open: " write '[{"name":"a","fail":{"call":"open","status":"'$answer'"}}]' --device a
        stops "call 6 of device a fails, as it is told to" write '[{"name":"a","fail":{"call":"queue_submit","at":6,"status":"'$answer'"}}]' --no-failover
    done
    run --separate-stderr write '[{"name":"a","fail":{"call":"work","at":12,"status":"IO"}}]' --no-failover --json
    [ "$status" -eq 7 ]
    [ "$(json 'o["error"]["exit_code"]')" = 7 ]
    run --separate-stderr write '[{"name":"a","fail":{"call":"work","at":12,"status":"DATA"}}]' --json
    [ "$status" -eq 7 ]
    [ "$(json 'o["error"]["exit_code"]')" = 7 ]
    fails_with 5 "a: compile: " write '[{"name":"a","fail":{"call":"compile","status":"HOST_MEMORY"}}]' --device a
}

@test "a device that the order needs: exit code 7, which call, and what is ordered there" {
    local call
    for call in open memory_info claim compile; do
        local lost='[{"name":"a","fail":{"call":"'$call'","lost":true}},{"name":"b"}]'
        fails_with 7 "a: $call: " write "$lost" --kv-device a
        [[ $stderr == *"the device is lost; the states are ordered to be on a" ]]
        fails_with 7 "a: $call: " write "$lost" -ot '.*=a'
        [[ $stderr == *"the device is lost; 'blk.0.attn_k.weight', "*" and 35 more pinned values are ordered to be on a" ]]
        fails_with 7 "a: $call: " write "$lost" --device a
        [[ $stderr == *"the device is lost; a is the only device that may be used" ]]
    done
    fails_with 7 "the device is lost; 'output_norm.weight' is ordered to be on a" write '[{"name":"a","fail":{"call":"open","lost":true}}]' -ot 'output_norm.*=a'
}

@test "what does not fit several devices: one line, with what each has free" {
    fails_with 5 "1500000 are free; nor does it fit when others take a share: b has 1000000 bytes free; a and b are the only devices that may be used" \
        write '[{"name":"a","memory_bytes":1500000},{"name":"b","memory_bytes":1000000}]' --device a,b
    [[ $stderr == *"; no context would fit, not even of one token: smaller types need less" ]]
    fails_with 5 "; a context of 128 tokens would fit" on '[{"name":"a","memory_bytes":3100000},{"name":"b","memory_bytes":3700000}]' \
        run austen It -n 3 --device a,b
    tenon run austen It -n 3 --ctx 128 --greedy --plugin "$TENON_TEST_PLUGINS/sim.so" --device a,b \
        --set 'plugin.sim.devices=[{"name":"a","memory_bytes":3100000},{"name":"b","memory_bytes":3700000}]'
    # Without the one that is short it fits: that is told once.
    run --separate-stderr write '[{"name":"a","memory_bytes":1000000},{"name":"b"}]' --device a,b --split-mode none --main-device a
    [ "$status" -eq 0 ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ $stderr == "tenon: warning: a: "*", 1000000 are free; all layers are to be there, on the main device; "*"; a is left out" ]]
    # A device that was lost before is told once, and counts among those named.
    run --separate-stderr write '[{"name":"a","fail":{"call":"open","lost":true}},{"name":"b","memory_bytes":1000000}]' --device a,b
    [ "$status" -eq 7 ]
    [ "${#stderr_lines[@]}" -eq 2 ]
    [[ ${stderr_lines[1]} == *"without it: b: "*"a and b are the only devices that may be used" ]]
    # One that failed for once is not what is in the way.
    run --separate-stderr write '[{"name":"a","memory_bytes":1500000,"fail":{"call":"open"}},{"name":"b","memory_bytes":1000000}]' --device a,b
    [ "$status" -eq 5 ]
    [ "${#stderr_lines[@]}" -eq 3 ]
    [[ ${stderr_lines[2]} == *"tenon: a: "*"1500000 are free; "* ]]
}

@test "a smaller context is named only where it helps" {
    local call
    for call in open memory_info claim queue_create compile bind buffer_alloc; do
        fails_with 5 "$call: call 1 of device a fails" write '[{"name":"a","fail":{"call":"'$call'","status":"DEVICE_MEMORY"}}]' --device a
        [[ $stderr != *"would fit"* ]]
    done
    # Also where the device goes on failing.
    local all='{"call":"open","status":"DEVICE_MEMORY"}' k
    for k in {2..20}; do all+=',{"call":"open","status":"DEVICE_MEMORY","at":'$k'}'; done
    fails_with 5 "open: call 1 of device a fails" write '[{"name":"a","fail":['"$all"']}]' --device a
    [[ $stderr != *"would fit"* ]]
    fails_with 5 "; a context of " on '[{"name":"a","memory_bytes":4300000}]' run austen It -n 3 --device a
    # 64 bytes of the arena have nothing to do with it.
    fails_with 7 "bytes for the arena: buffer_alloc: call 1 of device a fails, as it is told to: the device is lost" \
        write '[{"name":"a","fail":{"call":"buffer_alloc","lost":true}}]' --device a
    [[ $stderr != *"were free"* ]]
}

@test "without devices the plugin says what to set, and the CPU works" {
    run --separate-stderr tenon plugins --why --plugin "$TENON_TEST_PLUGINS/sim.so"
    [ "$status" -eq 0 ]
    [[ $output == *"no devices are described: set plugin.sim.devices"* ]]
    run --separate-stderr on '[]' run austen a -n 1 --greedy
    [ "$status" -eq 0 ]
    fails_with 3 "no device" on '[{"name":"a"}]' run austen a -n 1 --device b
}
