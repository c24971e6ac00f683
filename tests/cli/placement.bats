#!/usr/bin/env bats
# Where a model's layers go: the options of run, plan and perplexity, on simulated devices.
bats_require_minimum_version 1.5.0
load common

# on DEVICES COMMAND…: the command, with these devices.
on() {
    local devices=$1
    shift
    tenon "$@" --plugin "$TENON_TEST_PLUGINS/sim.so" --set "plugin.sim.devices=$devices"
}

two='[{"name":"a","host_visible":false},{"name":"b","host_visible":false}]'

write() { on "$two" run austen "It is a truth" -n 12 --greedy --ctx 64 "$@"; }

# gets LAYERS-OF-a LAYERS-OF-b LAYERS-OF-cpu0 OPTIONS…: as --explain tells, with the text of the CPU alone.
gets() {
    local want="$1 $2 $3" have= device
    shift 3
    [ -e cpu ] || tenon run austen "It is a truth" -n 12 --greedy --ctx 64 >cpu
    write --explain "$@" >text 2>explained
    cmp cpu text
    for device in a b cpu0; do
        have+=" $(sed -n "s/^placement: $device gets \([0-9]*\) of 5 layers$/\1/p" explained)"
    done
    [ "${have// /}" = "${want//[ 0]/}" ] || { echo "$*: '$have' instead of '$want'" >&2; cat explained >&2; return 1; }
}

@test "layers go where the options say, and the text stays the same" {
    gets 5 0 0 --split-mode none
    gets 0 5 0 --split-mode none --main-device b
    gets 0 5 0 -mg b
    gets 2 0 3 -sm none -ngl 2
    gets 0 0 5 --gpu-layers 0
    gets 2 3 0 --tensor-split 0.5,1.0
    gets 3 2 0 -ts 3,1 -sm layer
    gets 0 3 2 -ts 0/1 -ngl 3
    gets 5 0 0 -sm none -ngl all
    gets 5 0 0 -sm none -ngl 99
    gets 5 0 0 -sm none -ngl auto
}

@test "a state that cannot be with its layer is where all that touches it can be, and a line says why" {
    local apart='[{"name":"a","except":["set_rows"]},{"name":"b","only":["set_rows"]}]'
    local torn='[{"name":"a","except":["attention","matmul"]},{"name":"b","except":["set_rows"]}]'
    local mode
    tenon run austen "It is a truth" -n 12 --greedy --ctx 64 >cpu
    for mode in layer row tensor none; do
        on "$apart" run austen "It is a truth" -n 12 --greedy --ctx 64 -sm $mode --explain >text 2>told
        cmp cpu text
        [ "$(grep -c '^tenon: warning: ' told)" = 1 ]
        grep -Eq "^tenon: warning: placement: 'k\.0[^']*' and [0-9]* more states are on cpu0, not with their layers on a, which does not take set_rows '[^']*': this device has no set_rows$" told
        sed -n 's/^tenon: warning: //p' told | grep -qxFf - <(grep '^placement' told)
        on "$torn" run austen "It is a truth" -n 12 --greedy --ctx 64 -sm $mode >text 2>told
        cmp cpu text
    done
    on "$apart" run austen "It is a truth" -n 12 --greedy --ctx 64 >text 2>told   # nothing was asked
    cmp cpu text
    [ ! -s told ]
    fails_with 3 "tenon: --kv-device: 'k.0' is ordered to be on b, which does not take matmul 'blk.0.attn/scores' with it: this device has no matmul" \
        on "$apart" run austen a -n 1 --kv-device b
}

@test "when a device is lost its states go where all that touches them can be" {
    tenon run austen "It is a truth" -n 12 --greedy --ctx 64 --kv-type q8_0 >cpu
    on '[{"name":"a","dtypes":["F32","Q4_1"]},{"name":"b","fail":{"call":"queue_submit","at":3,"lost":true}},{"name":"c","only":["matmul","rope","swiglu","set_rows"]}]' \
        run austen "It is a truth" -n 12 --greedy --ctx 64 --kv-type q8_0 -sm tensor >text 2>told
    cmp cpu text
    grep -q "b is left out" told
}

@test "tensors and the KV cache go where they are told" {
    gets 5 0 0 -sm none --override-tensor 'ffn_(up|gate)=cpu' --override-tensor 'attn_q=b'
    grep -q 'segment 0 on' explained
    grep -q '^b: needs' explained && grep -q '^cpu0: needs' explained
    gets 5 0 0 -sm none --kv-device cpu
    grep -q '^cpu0: needs .* 131072 for states' explained
    gets 5 0 0 -sm none --kv-device b
    grep -q '^b: needs .* 131072 for states' explained
}

@test "an override that matches nothing is a warning" {
    write -ot 'zebra=a' >text 2>told
    [ "$(cat told)" = "tenon: warning: austen: no tensor of the model has a name that is matched by 'zebra'" ]
}

@test "what does not fit becomes fewer layers, and a line says so" {
    local small='[{"name":"a","memory_bytes":4000000,"host_visible":false}]'
    tenon run austen "It is a truth" -n 12 --greedy --ctx 64 >cpu
    on "$small" run austen "It is a truth" -n 12 --greedy --ctx 64 -ngl all >text 2>told
    cmp cpu text
    [[ $(cat told) =~ ^"tenon: warning: placement: "[1-4]" of the 5 layers fit the memory that is free, the others are on the CPU: a would need "[0-9]+" bytes, 4000000 are free"$ ]]
    on '[{"name":"a","memory_bytes":1}]' plan austen --ctx 64 --batch 1 -ngl all 2>told >/dev/null
    [[ $(cat told) =~ ^"tenon: warning: placement: 0 of the 5 layers fit the memory that is free, the others are on the CPU: a would need "[0-9]+" bytes, 1 is free"$ ]]
    on "$small" run austen "It is a truth" -n 12 --greedy --ctx 64 >text 2>told   # nothing was asked
    cmp cpu text
    [ ! -s told ]
    fails_with 5 "a is the only device that may be used; no context would fit, not even of one token" on \
        '[{"name":"a","memory_bytes":1500000}]' run austen a -n 1 --device a
    fails_with 5 "only device that may be used; a context of" on \
        '[{"name":"a","memory_bytes":5000000}]' run austen a -n 1 --device a --ctx 256
}

@test "what a device has no room for goes to the others of the split, and a line says what it would need" {
    local mode want='tenon: warning: placement: what has no room is on other devices: a would need [0-9]* bytes, 1 is free'
    tenon run austen "It is a truth" -n 12 --greedy --ctx 64 >cpu
    for mode in layer row tensor; do
        on '[{"name":"a","memory_bytes":1,"host_visible":false},{"name":"b","host_visible":false}]' \
            run austen "It is a truth" -n 12 --greedy --ctx 64 -sm $mode -ts 1,1 --explain >text 2>told
        cmp cpu text
        [ "$(grep -c '^tenon: ' told)" = 1 ]
        grep -qx "$want" told
        grep -qx "${want#tenon: warning: }" told
        grep -qx "placement: b gets 5 of 5 layers" told
        [ "$(grep -c '^[a-z0-9]*: needs' told)" = 1 ]
    done
    # a has room for some: the rest is on b, and no node says that b or the CPU had none.
    on '[{"name":"a","memory_bytes":1500000,"host_visible":false},{"name":"b","host_visible":false}]' \
        run austen "It is a truth" -n 12 --greedy --ctx 64 -sm layer -ts 1,1 --explain >text 2>told
    cmp cpu text
    grep -qx "placement: a gets 1 of 5 layers" told
    grep -qx "placement: b gets 4 of 5 layers" told
    run ! grep -q "no room for .* on \(b\|cpu0\)" told
    # A share of 0 is not overridden.
    on '[{"name":"a","memory_bytes":1500000,"host_visible":false},{"name":"b","host_visible":false}]' \
        run austen "It is a truth" -n 12 --greedy --ctx 64 -sm layer -ts 1,0 --explain >text 2>told
    cmp cpu text
    grep -q "of the 5 layers fit the memory that is free, the others are on the CPU: a would need" told
}

# sized BYTES-OF-a BYTES-OF-b COMMAND…
sized() {
    local devices='[{"name":"a","memory_bytes":'$1',"host_visible":false},{"name":"b","memory_bytes":'$2',"host_visible":false}]'
    shift 2
    on "$devices" "$@"
}

@test "devices that share without a part of their own are told together" {
    sized 1500000 1200000 plan austen --ctx 64 -ngl all 2>told >/dev/null
    [[ $(cat told) =~ ^"tenon: warning: placement: "[1-4]" of the 5 layers fit the memory that is free, the others are on the CPU: a and b would need "[0-9]+" bytes together, 1500000 and 1200000 are free"$ ]]
}

@test "a weight that is larger than every device is told, and what was decided by memory" {
    local options
    for options in "-ngl 1" "-ngl 2"; do
        sized 500000 500000 plan austen --ctx 64 --batch 1 $options --json >plan.json 2>told
        grep -q "the others are on the CPU: " told
        grep -q '"by_memory":true' plan.json
    done
    sized 500000 450000 plan austen --ctx 64 -ngl 1 2>told >/dev/null
    [[ $(cat told) =~ "0 of the 1 layers fit the memory that is free, the others are on the CPU: 'token_embd.weight' has 557056 bytes, a and b have room for "[0-9]+" at most"$ ]]
    # Its rows have room on both.
    sized 500000 500000 plan austen --ctx 64 -sm row -ngl 1 >text 2>told
    [ ! -s told ]
    grep -q '^layers: 4 on cpu0, 1 divided over devices$' text
    sized 1000000 1000000 plan austen --ctx 64 -sm row --json >plan.json 2>told
    grep -q "of the 5 layers fit" told
    grep -q '"by_memory":true' plan.json
}

@test "a layer that is where it was given does not blame memory" {
    sized 2000000 3000000 run austen a -n 1 --ctx 64 -ngl 3 --explain >text 2>told
    grep -q "layer: layer 2, with 'blk.2.attn_norm', was given to b" told
    run ! grep -q "memory is short" told
}

@test "all layers are at least as many as nobody asks for" {
    local bytes have all
    for bytes in "2800000 1500000" "2000000 1500000" "2400000 2400000"; do
        have=$(sized $bytes plan austen --ctx 64 2>/dev/null | sed -n 's/^layers: .*\([0-9]\) on cpu0$/\1/p')
        all=$(sized $bytes plan austen --ctx 64 -ngl all 2>/dev/null | sed -n 's/^layers: .*\([0-9]\) on cpu0$/\1/p')
        [ "${all:-0}" -le "${have:-0}" ] || { echo "$bytes: $all instead of $have on the CPU" >&2; return 1; }
    done
}

@test "an order that does not fit a device is named, with what it needs there and what is free" {
    local small='[{"name":"a","memory_bytes":1500000,"host_visible":false},{"name":"b"}]'
    fails_with 5 "tenon: -ot: a: what is ordered to be there does not fit: 'blk.0.ffn_down.weight', " on "$small" run austen a -n 1 -ot ffn=a
    fails_with 5 "and 13 more pinned values need 2510848 bytes, 1500000 are free" on "$small" run austen a -n 1 -ot ffn=a
    fails_with 5 "tenon: --kv-device: a: what is ordered to be there does not fit: the states need 524288 bytes, 300000 are free" on \
        '[{"name":"a","memory_bytes":300000},{"name":"b"}]' run austen a -n 1 --kv-device a --ctx 256
}

@test "plan and perplexity take the same options" {
    on "$two" plan austen --ctx 64 -sm layer -ts 1,1 --json >out
    output=$(cat out)
    [ "$(json 'sum(d["weight_copied_bytes"] > 0 for d in o["devices"])')" = 2 ]
    on "$two" plan austen --ctx 64 -ngl 0 --json >out
    output=$(cat out)
    [ "$(json '[d["name"] for d in o["devices"] if d["weight_copied_bytes"]]')" = "['cpu0']" ]   # packed there
    echo "It is a truth universally acknowledged" >words
    tenon perplexity austen words --json >alone
    on "$two" perplexity austen words --json -sm layer -ts 2,1 -ot ffn=cpu0 >split
    cmp alone split
    fails_with 2 "-ngl is of a model" tenon plan --intervals words -ngl 3
}

@test "what cannot be is one line, with its exit code" {
    write -ot 'ffn=CPU' --kv-device CPU0 -n 1 >/dev/null
    fails_with 2 "there is no option '-m': MODEL is a word of its own, tenon run MODEL" tenon run -m austen
    fails_with 2 "there is no option '-p': PROMPT is a word of its own" tenon run austen -p text
    fails_with 2 "there is no option '-c'; did you mean '--ctx'?" tenon run austen -c 64
    fails_with 2 "there is no option '--cache-type-k'; did you mean '--kv-type'?" tenon run austen --cache-type-k f16
    fails_with 2 "-ngl 'few': a whole number from 0, auto or all is expected" write -ngl few
    fails_with 2 "a whole number from 0, auto or all is expected" write -ngl -1
    fails_with 2 "-sm is none, layer, row or tensor, not 'column'" write -sm column
    fails_with 2 "--split-mode is none, layer, row or tensor, not 'column'" write --split-mode=column
    fails_with 2 "-ts '1,x'" write -ts 1,x
    fails_with 2 "--tensor-split ''" write --tensor-split ''
    fails_with 2 "tenon: -ts: 3 shares are given, layers are divided over 2 devices" write -ts 1,1,1
    fails_with 2 "tenon: -ts: all shares are 0" write -ts 0,0
    fails_with 2 "tenon: -ts: shares are of the split modes" write -ts 1,1 -sm none
    fails_with 3 "-mg: there is no device 'zz'; there are: a, b, cpu0 (also 'cpu')" write -sm none -mg zz
    fails_with 3 "--kv-device: there is no device 'zz'" write --kv-device zz
    fails_with 3 "-dev: there is no device 'zz'" write -dev a,zz
    fails_with 3 "--override-tensor: there is no device 'zz'" write -ot ffn=a --override-tensor attn=zz
    fails_with 3 "-ot: there is no device 'zz'" write -ot ffn=zz --override-tensor attn=a
    fails_with 2 "-ot 'ffn': REGEX=DEVICE is expected" write -ot ffn
    fails_with 2 "REGEX=DEVICE is expected" write -ot =a
    fails_with 2 "override 'ffn(' at character 4" write -ot 'ffn(=a'
    fails_with 2 "tenon: -ot: a pin's device cpu0 is not one of the session's devices" write --device a -ot ffn=cpu0
    fails_with 2 "tenon: -ngl: 3 of 5 layers are not for the devices of the split, and there is no CPU beside them" write --device a,b -ngl 2
    fails_with 2 "tenon: --main-device: a main device is of the split modes" write --main-device a -sm layer
    fails_with 2 "tenon: --kv-device: the device of states b is not one of the session's devices" write --device a --kv-device b
    fails_with 3 "tenon: --override-tensor: no device takes matmul 'blk.0.ffn_gate' (a: this device has no matmul" \
        on '[{"name":"a","except":["matmul"]}]' run austen a -n 1 --override-tensor ffn=a
    fails_with 3 "a: this device has no matmul" on '[{"name":"a","except":["matmul"]}]' run austen a -n 1 -ot ffn=a
}

@test "plan tells which device has how many layers, and what was chosen over what" {
    local few='[{"name":"a","memory_bytes":2000000},{"name":"b","memory_bytes":2500000}]'
    on "$few" plan austen --ctx 64 2>told >text
    [ ! -s told ]   # nothing was asked: where it is is no warning, on one device or several
    grep -q '^layers: ' text
    grep -q '^  chosen by what a prompt and new tokens cost: ' text
    grep -q '^  bounds, and what is proved, are for states and weights where they are$' text
    on "$few" plan austen --ctx 64 --json 2>told | python3 -c '
import json, sys
d = json.load(sys.stdin)
p = d["placement"]
assert p["layers"] == 5 and p["by_memory"] and d["warnings"] == [], p
assert sum(x["layers"] for x in d["devices"]) + p["divided_layers"] == 5
assert p["compared"][0]["outcome"] == "chosen" and p["compared"][0]["times"] == 1
assert len(p["compared"]) > 3 and all(c["times"] >= 0.999 or c["outcome"] == "no room" for c in p["compared"])'
    on "$few" plan austen --ctx 64 --batch 1 2>told >text
    [ "$(cat told)" = "tenon: warning: memory is short, and --batch 1 is placed for 1 token at once: run is for 64 and may be placed otherwise" ]
    on "$few" plan austen --ctx 64 -ot 'zebra=a' --json 2>told | grep -q "\"warnings\":\[.*'zebra'"
}

@test "what was compared is told by name where the graph runs in simpler ops" {
    local bytes
    for bytes in 559498 1559498 3000000; do
        on '[{"name":"a","memory_bytes":'$bytes',"except":["rms_norm"]}]' plan austen --ctx 64 --json >json
        python3 -c '
import json
names = [c["name"] for c in json.load(open("json"))["placement"]["compared"]]
held = [n.partition(" with ")[2] for n in names if " with " in n]
assert held and all(h in ("\x27token_embd.weight\x27 on " + d for d in ("a", "cpu0")) for h in held), names'
    done
}

@test "a layer is on the device that has its bytes" {
    local two='[{"name":"a"},{"name":"b"}]'
    on "$two" run austen "It is a truth" -n 1 --ctx 64 -sm row -ts 0,1 --explain >text 2>told
    grep -qx "placement: b gets 5 of 5 layers" told
    run ! grep -q "placement: a gets" told
}

@test "layers that are asked to be on GPUs and are on the CPU are a warning" {
    tenon run austen a -n 1 --ctx 64 -ngl 99 -sm row >text 2>told
    [ "$(cat told | grep -c '^tenon: warning: ')" = 1 ]
    grep -qx "tenon: warning: placement: layers are asked to be on GPUs, and there is none: they are on the CPU" told
    on "$two" run austen a -n 1 --ctx 64 -sm none -ngl all -mg cpu0 >text 2>told
    grep -qx "tenon: warning: placement: layers are asked to be on a GPU, and the main device, cpu0, is a CPU: they are there" told
    tenon run austen a -n 1 --ctx 64 -ngl 0 >text 2>told
    run ! grep -q warning told
}

@test "what is wrong with a placement is told by the option, and what to do" {
    fails_with 2 "tenon: -ot: override 'ffn(' at character 4: " on "$two" run austen a -n 1 -ot 'ffn(=a'
    fails_with 2 "tenon: -ot 'ffn=a,attn=b': one REGEX=DEVICE is expected: repeat -ot for more" on "$two" run austen a -n 1 -ot 'ffn=a,attn=b'
    fails_with 2 "tenon: -ot 'ffn=zz,attn=b': one REGEX=DEVICE is expected" on "$two" run austen a -n 1 -ot 'ffn=zz,attn=b'
    on "$two" plan austen --ctx 64 -ot '(?=ffn,|blk)blk=a' >/dev/null
    fails_with 2 "tenon: --device: a is given twice" on "$two" run austen a -n 1 --device a,a
    on "$two" run austen "It is" -n 1 --ctx 64 --device cpu --explain >text 2>told
    grep -q '^cpu0: needs' told
    # Neither is itself the other that would take a share.
    local small='[{"name":"a","memory_bytes":2000000},{"name":"b","memory_bytes":2000000}]'
    fails_with 5 "nor does it fit when others take a share: b has 2000000 bytes free" on "$small" plan austen --device a,b --ctx 256
    fails_with 5 "nor does it fit when others take a share: b has 2000000 bytes free" on "$small" plan austen --device a,b --ctx 256 -sm layer
}
