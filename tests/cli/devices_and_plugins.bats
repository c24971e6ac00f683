#!/usr/bin/env bats
# tenon devices, tenon plugins, and how plugins are found.
bats_require_minimum_version 1.5.0
load common

@test "devices are listed, as text and as JSON" {
    run --separate-stderr tenon devices
    [ "$status" -eq 0 ]
    [[ $output == cpu0* ]]
    run --separate-stderr tenon devices --json
    [ "$(json 'o["schema_version"], o["devices"][0]["name"], o["devices"][0]["plugin"], o["devices"][0]["memory_bytes"] > 0')" = "(1, 'cpu0', 'cpu', True)" ]
}

@test "plugins are listed, with the reason for each when asked" {
    run --separate-stderr tenon plugins
    [ "$status" -eq 0 ]
    [ "${#lines[@]}" -eq 1 ]
    [[ $output == cpu* ]]
    run --separate-stderr env TENON_PLUGIN_PATH="$TENON_TEST_PLUGINS" "$TENON" plugins --why
    [ "$status" -eq 0 ]
    [[ $output == *"abi_newer"*rejected* ]]
    [[ $output == *"cpu.so"* ]]
    [[ $stderr == "tenon: warning: plugin bad_names: device "*"device 6 is left out: "*"no reason given"* ]]
    [[ $stderr == *"tenon: warning: twin_b1 may be twin_a1 of plugin twin_a: both are called 'Twin', and no PCI"*"both are used"* ]]
    run --separate-stderr env TENON_PLUGIN_PATH="$TENON_TEST_PLUGINS" "$TENON" plugins --why --json
    [ "$(json 'len([p for p in o["plugins"] if p["state"] == "rejected" and p["reason"]]) > 5')" = True ]
}

@test "a named plugin that is rejected or missing: exit code 4, file and reason in one line" {
    fails_with 4 "abi_newer.so" tenon devices --plugin "$TENON_TEST_PLUGINS/abi_newer.so"
    fails_with 4 "nowhere.so" tenon run austen a --plugin nowhere.so
    echo "no library" >text.so
    fails_with 4 "text.so" tenon devices --plugin ./text.so
}

@test "faulty plugins beside the CPU plugin do it no harm" {
    tenon run austen "She was" -n 6 --greedy >one
    run --separate-stderr env TENON_PLUGIN_PATH="$TENON_TEST_PLUGINS" "$TENON" run austen "She was" -n 6 --greedy --device cpu0
    [ "$status" -eq 0 ]
    [ "$output" = "$(cat one)" ]
}

@test "the user's tenon.ini names, disables and sets" {
    mkdir -p config/tenon
    printf '[plugins]\ndisable = cpu\n' >config/tenon/tenon.ini
    run --separate-stderr tenon plugins --why
    [[ $output == *disabled* ]]
    fails_with 3 "no plugin offers a device, see tenon plugins --why; plugin cpu is left out: disabled by $BATS_TEST_TMPDIR/config/tenon/tenon.ini" tenon devices
    : >empty.ini
    fails_with 3 "no plugin offers a device, see tenon plugins --why; plugin cpu is left out: start: setting threads=abc: must be a number from 1 to 1024" tenon devices --config empty.ini --set plugin.cpu.threads=abc
    printf '[plugin.cpu]\ndevices = 2\n' >config/tenon/tenon.ini
    run --separate-stderr tenon devices
    [ "${#lines[@]}" -eq 2 ]
    run --separate-stderr tenon devices --set plugin.cpu.devices=3
    [ "${#lines[@]}" -eq 3 ]
    printf '[plugins\n' >broken.ini
    fails_with 6 "broken.ini" tenon devices --config broken.ini
    fails_with 6 "missing.ini" tenon devices --config missing.ini
}

@test "a misspelt setting is told, once, with the nearest one" {
    run --separate-stderr tenon run austen a -n 1 --greedy --set plugin.cpu.treads=1 --set plugin.npu.x=1
    [ "$status" -eq 0 ]
    [ "${#stderr_lines[@]}" -eq 2 ]
    [[ $stderr == *"plugin.npu.x=1: ignored, no plugin 'npu' was found"* ]]
    [[ $stderr == *"plugin.cpu.treads=1: ignored, plugin cpu has no setting 'treads'; did you mean 'threads'?"* ]]
    mkdir -p config/tenon
    printf '[plugin.cpu]\nactivation = f32\n' >config/tenon/tenon.ini
    run --separate-stderr tenon run austen a -n 1 --greedy
    [ "$status" -eq 0 ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ $stderr == *"tenon.ini: [plugin.cpu] activation = f32: ignored"*"did you mean 'activations'?" ]]
    : >empty.ini
    run --separate-stderr tenon run austen a -n 1 --greedy --config empty.ini --set plugin.cpu.threads=1
    [ -z "$stderr" ]
}

@test "a plugin that a setting keeps out is named, with the setting's place" {
    local sim=(--plugin "$TENON_TEST_PLUGINS/sim.so" --set 'plugin.sim.devices=[{"name":"a"}]')
    run --separate-stderr tenon devices --set plugins.disable=cpu "${sim[@]}"
    [ "$status" -eq 0 ] && [ "${#lines[@]}" -eq 1 ]
    [ "$stderr" = "tenon: plugin cpu is left out: disabled by settings" ]
    run --separate-stderr tenon devices --set plugins.disable=cpu "${sim[@]}" --json
    [ "$(json 'o["left_out"], len(o["devices"])')" = "([{'plugin': 'cpu', 'reason': 'disabled by settings'}], 1)" ]
    mkdir -p config/tenon
    printf '[plugin.cpu]\ndisable = yes\n' >config/tenon/tenon.ini
    run --separate-stderr tenon devices "${sim[@]}"
    [ "$stderr" = "tenon: plugin cpu is left out: disabled by $BATS_TEST_TMPDIR/config/tenon/tenon.ini" ]
    printf '[plugin.cpu]\nsha256 = %064d\n' 0 >config/tenon/tenon.ini
    run --separate-stderr tenon devices "${sim[@]}"
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ $stderr == "tenon: warning: plugin "*"cpu.so of installed: its SHA-256 is "*"tenon.ini pins 0000"*"0 (tenon plugins pin FILE pins the new one)" ]]
    run --separate-stderr tenon run austen x --device cpu0 "${sim[@]}"
    [ "$status" -eq 3 ] && [[ ${stderr_lines[1]} == "tenon: --device: there is no device 'cpu0'; there are: a; plugin "*"cpu.so: its SHA-256 is "* ]]
}

@test "a file that was named and offers no device says why" {
    run --separate-stderr tenon devices --plugin "$TENON_TEST_PLUGINS/no_devices.so"
    [ "$status" -eq 0 ] && [ "$stderr" = "tenon: warning: plugin $TENON_TEST_PLUGINS/no_devices.so: 0 devices; no such chip in this machine" ]
    run --separate-stderr tenon run austen x --device no_devices0 --plugin "$TENON_TEST_PLUGINS/no_devices.so"
    [ "$status" -eq 3 ]
    [[ ${stderr_lines[1]} == *"there is no device 'no_devices0'; there are: cpu0 (also 'cpu'); plugin $TENON_TEST_PLUGINS/no_devices.so: 0 devices; no such chip in this machine" ]]
    fails_with 6 "npu: No such file or directory (a file is pinned, not a name)" tenon plugins pin npu
}

@test "names in plugins.order and plugins.disable that no plugin has are told" {
    run --separate-stderr tenon devices --set plugins.disable=cpuu,cpuu --set plugins.order=zebra,cpu
    [ "$status" -eq 0 ] && [ "${#stderr_lines[@]}" -eq 2 ]
    [ "${stderr_lines[0]}" = "tenon: warning: setting plugins.order=zebra: ignored, no plugin 'zebra' was found" ]
    [ "${stderr_lines[1]}" = "tenon: warning: setting plugins.disable=cpuu: ignored, no plugin 'cpuu' was found; did you mean 'cpu'?" ]
    mkdir -p config/tenon
    printf '[plugins]\norder = cpuu\n' >config/tenon/tenon.ini
    run --separate-stderr tenon run austen a -n 1 --greedy
    [ "$status" -eq 0 ]
    [ "$stderr" = "tenon: warning: $BATS_TEST_TMPDIR/config/tenon/tenon.ini: [plugins] order = cpuu: ignored, no plugin 'cpuu' was found; did you mean 'cpu'?" ]
}

@test "the places searched are told, also when nothing is there" {
    cp -L "$(dirname "$TENON")/../lib/libtenon.so.0" "$(dirname "$TENON")/../lib/libtenon_lm.so.0" .
    run --separate-stderr env LD_LIBRARY_PATH=. TENON_PLUGIN_PATH=plugins:/nowhere "$TENON" plugins --why
    [ "$status" -eq 0 ]
    [[ $output == *"searched, in this order:"* ]]
    [[ $output == *"TENON_PLUGIN_PATH  plugins: is ignored: a relative path: write all of it, from / on, or give it as --plugin"* ]]
    [[ $output == *"TENON_PLUGIN_PATH  /nowhere: does not exist"* ]]
    [[ $output == *"config             $BATS_TEST_TMPDIR/config/tenon/tenon.ini: does not exist"* ]]
    [[ ${lines[-1]} == "  installed          "*"tenon/plugins: "* ]]
    run --separate-stderr tenon plugins --why --json
    [ "$(json 'o["places"][0]["origin"], o["places"][0]["found"], o["places"][-1]["origin"], o["places"][-1]["files"] > 0')" = "('TENON_PLUGIN_PATH', 'is not set', 'installed', True)" ]
    run --separate-stderr tenon plugins --set plugins.disable=cpu
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    [[ $stderr == *"tenon plugins --why"* ]]
}

@test "a setting without '=' and a value that the plugin does not know" {
    fails_with 2 "=" tenon devices --set plugin.cpu.devices
    run --separate-stderr tenon run austen a -n 1 --greedy --set plugin.cpu.activations=q3
    [ "$status" -ne 0 ]
    [[ $stderr == *activations* ]]
}

@test "the command finds its plugins and model through a link and from another folder" {
    ln -s "$TENON" linked
    run --separate-stderr ./linked run austen "She" -n 2 --greedy
    [ "$status" -eq 0 ]
    cd /
    run --separate-stderr tenon run austen "She" -n 2 --greedy
    [ "$status" -eq 0 ]
}

@test "what crashes or hangs when it is tried is quarantined, told, and tried again on demand" {
    misbehaving=$TENON_TEST_PLUGINS/../misbehaving-plugins
    mkdir plugins
    cp "$misbehaving"/{exit_at_load,print_at_load,good}.so plugins
    export TENON_PLUGIN_PATH=$PWD/plugins
    for round in 1 2; do
        run --separate-stderr tenon plugins
        [ "$status" -eq 0 ]
        [ "${#lines[@]}" -eq 6 ]   # good, cpu, and two lines for each of the others
        [[ $output == *"exit_at_load quarantined $PWD/plugins/exit_at_load.so"*"it ended the process while it was loaded, with exit code 3"* ]]
        [[ $output == *"print_at_load quarantined"*"it wrote to standard output"* ]]
        [ "${#stderr_lines[@]}" -eq 1 ]
        [[ $stderr == *"tenon plugins retry FILE tries it again" ]]
    done
    run --separate-stderr tenon plugins --json
    [ "$(json '[p["state"] for p in o["plugins"]]')" = "['quarantined', 'loaded', 'quarantined', 'loaded']" ]
    fails_with 4 "exit_at_load.so: in quarantine, it ended the process" tenon devices --plugin plugins/exit_at_load.so
    fails_with 4 "exit_at_load.so: in quarantine, it ended the process" tenon plugins retry plugins/exit_at_load.so
    cp "$misbehaving/good.so" plugins/exit_at_load.so   # mended
    run --separate-stderr tenon plugins retry plugins/exit_at_load.so
    [ "$status" -eq 0 ]
    [[ ${lines[0]} == "good "*"$PWD/plugins/exit_at_load.so" ]]
    run --separate-stderr tenon plugins retry --why
    [ "$status" -eq 0 ]
    [[ $output == *"print_at_load quarantined"* ]]
    fails_with 4 "No such file" tenon plugins retry nowhere.so
    fails_with 2 "none of pin, retry and new" tenon plugins rety
    fails_with 2 "one word too many" tenon plugins retry a b
}

@test "a plugin that crashes in use ends the command as ever, and is quarantined at the next start" {
    mkdir plugins
    cp "$TENON_TEST_PLUGINS/../misbehaving-plugins/later/crashes_in_use.so" plugins
    export TENON_PLUGIN_PATH=$PWD/plugins
    tenon run austen She -n 4 --greedy --device cpu0 >cpu
    for how in write:139:SIGSEGV thread:139:SIGSEGV abort:134:SIGABRT divide:136:SIGFPE; do
        IFS=: read -r way code name <<<"$how"
        # A sanitizer's own handlers end a process otherwise.
        run --separate-stderr env TENON_TEST_CRASH=$way ASAN_OPTIONS=handle_segv=0:handle_abort=0:handle_sigfpe=0 \
            "$TENON" run austen She -n 4 --greedy
        [ "$status" -eq "$code" ]
        run --separate-stderr tenon run austen She -n 4 --greedy
        [ "$status" -eq 0 ]
        [ "$output" = "$(cat cpu)" ]
        [ "${#stderr_lines[@]}" -eq 1 ]
        [[ $stderr == "tenon: warning: plugin $PWD/plugins/crashes_in_use.so of TENON_PLUGIN_PATH: in quarantine, it crashed with $name in use on 20"*" (tenon plugins retry FILE tries it again)" ]]
        run --separate-stderr tenon plugins
        [[ $output == *"crasher      quarantined $PWD/plugins/crashes_in_use.so"*"it crashed with $name in use on 20"* ]]
        run --separate-stderr tenon plugins retry plugins/crashes_in_use.so
        [ "$status" -eq 0 ]
        [[ ${lines[0]} == "crasher "*"1 device"* ]]
    done
    run --separate-stderr env TENON_TEST_CRASH=kill "$TENON" run austen She -n 4 --greedy
    [ "$status" -eq 137 ]
    run --separate-stderr tenon run austen She -n 4 --greedy
    [ "$status" -eq 0 ] && [ -z "$stderr" ]
    # Whatever handler there is.
    run --separate-stderr env TENON_TEST_CRASH=write "$TENON" run austen She -n 4 --greedy
    [ "$status" -ne 0 ]
    run --separate-stderr tenon plugins --why --json
    [ "$(json '[p["state"] for p in o["plugins"]], "crashed with SIGSEGV in use" in o["plugins"][0]["reason"]')" = "(['quarantined', 'loaded'], True)" ]
    run --separate-stderr tenon run austen She --set plugins.disable=cpu
    [ "$status" -eq 3 ]
    [[ ${stderr_lines[-1]} == *"plugin 'crasher' is out: it crashed with SIGSEGV in use on 20"*" (tenon plugins retry $PWD/plugins/crashes_in_use.so tries it again)" ]]
    echo >>plugins/crashes_in_use.so   # another file
    run --separate-stderr tenon run austen She -n 4 --greedy
    [ "$status" -eq 0 ] && [ -z "$stderr" ]
}

@test "the time that a plugin has to answer is a setting" {
    misbehaving=$TENON_TEST_PLUGINS/../misbehaving-plugins
    fails_with 4 "hang_at_load.so: in quarantine, it hung while it was loaded: it did not come back within 700 ms" \
        tenon devices --set plugins.probe_timeout_ms=700 --plugin "$misbehaving/hang_at_load.so"
    for value in 0 -1 1s 600001 ""; do
        fails_with 2 "a whole number from 1 to 600000 is expected" tenon devices --set plugins.probe_timeout_ms=$value
    done
    printf '[plugins]\nprobe_timeout_ms = soon\n' >tenon.ini
    fails_with 6 "tenon.ini:2: " tenon devices --config tenon.ini
}

@test "a plugin is pinned, and another file in its place is refused" {
    mkdir -p config/tenon plugins
    printf '; mine\n[plugin.stub]   ; theirs\nword = a\n' >config/tenon/tenon.ini
    cp "$TENON_TEST_PLUGINS/plain.so" plugins
    hash=$(sha256sum plugins/plain.so | cut -c-64)
    run --separate-stderr tenon plugins pin plugins/plain.so
    [ "$status" -eq 0 ]
    [ "$output" = "$PWD/config/tenon/tenon.ini: [plugin.stub] sha256 = $hash" ]
    [ "$(cat config/tenon/tenon.ini)" = "$(printf '; mine\n[plugin.stub]   ; theirs\nsha256 = %s\nword = a' "$hash")" ]
    run --separate-stderr tenon devices --plugin plugins/plain.so
    [ "$status" -eq 0 ]
    cp "$TENON_TEST_PLUGINS/plain_newer.so" plugins/plain.so
    fails_with 4 "its SHA-256 is " tenon devices --plugin plugins/plain.so
    run --separate-stderr tenon plugins --why --plugin plugins/plain.so
    [ "$status" -eq 4 ] && [[ $stderr == "tenon: plugin $PWD/plugins/plain.so: its SHA-256 is "* ]]
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ $output == "stub         rejected   $PWD/plugins/plain.so"*"--plugin: its SHA-256 is "*"cpu "*"searched, in this order:"* ]]
    run --separate-stderr tenon plugins --why --json --plugin plugins/plain.so
    [ "$status" -eq 4 ] && [ "$(json '[(p["name"], p["state"]) for p in o["plugins"]][0]')" = "('stub', 'rejected')" ]
    rm plugins/plain.so   # a pin of a plugin that is not there now is no mistake
    sed -i /word/d config/tenon/tenon.ini
    run --separate-stderr tenon devices
    [ "$status" -eq 0 ] && [ -z "$stderr" ]
    printf 'word = a\n' >>config/tenon/tenon.ini
    for command in devices 'plugins retry'; do   # said once, however often the runtime starts
        run --separate-stderr tenon $command
        [ "$status" -eq 0 ] && [ "${#stderr_lines[@]}" -eq 1 ]
        [[ $stderr == "tenon: warning: "*"[plugin.stub] word = a: ignored, no plugin 'stub' was found" ]]
    done
    cp "$TENON_TEST_PLUGINS/plain_newer.so" plugins/plain.so
    run --separate-stderr tenon plugins pin plugins/plain.so --config other.ini --json
    [ "$(json 'o["schema_version"], o["name"], len(o["sha256"]), o["config"]')" = "(1, 'stub', 64, 'other.ini')" ]
    run --separate-stderr tenon devices --plugin plugins/plain.so --config other.ini
    [ "$status" -eq 0 ]
    fails_with 2 "which FILE?" tenon plugins pin
    fails_with 6 "nowhere.so: No such file" tenon plugins pin nowhere.so
    fails_with 4 "not a plugin of Tenon" tenon plugins pin "$TENON_TEST_PLUGINS/no_manifest.so"
}

@test "a device that two plugins offer is listed once, and the choice is explained" {
    twins=(--plugin "$TENON_TEST_PLUGINS/twin_a.so" --plugin "$TENON_TEST_PLUGINS/twin_b.so")
    run --separate-stderr tenon devices "${twins[@]}"
    [[ $output == *"twin_a0 "*"twin_b1 "*"twin_b0    shadowed       is twin_a0, which comes first" ]]
    run --separate-stderr tenon devices "${twins[@]}" --set plugins.order=twin_b
    [[ $output == *"twin_a0    shadowed       is twin_b0, which comes first in the configured order" ]]
    run --separate-stderr tenon plugins --why "${twins[@]}"
    [[ $output == *"1 device; device 0 is left out: 'Twin' is offered by plugin twin_a, which comes first"* ]]
    run --separate-stderr tenon devices "${twins[@]}" --json
    [ "$(json '[(s["name"], s["by"], s["plugin"], s["reason"]) for s in o["shadowed"]]')" = "[('twin_b0', 'twin_a0', 'twin_b', 'which comes first')]" ]
}

@test "where nothing can be kept it works, with one warning" {
    mkdir plugins
    cp "$TENON_TEST_PLUGINS/twin_a.so" plugins
    : >file
    XDG_CACHE_HOME=$PWD/file TENON_PLUGIN_PATH=$PWD/plugins run --separate-stderr tenon devices
    [ "$status" -eq 0 ]
    [[ $output == *"twin_a0 "* ]]
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ $stderr == *"warning: what is found out about plugins is not kept, so they are tried again at every start: "* ]]
}

@test "the helper that tries plugins is no command, and of the same release" {
    probe=$(dirname "$TENON")/../lib/tenon/tenon-probe
    fails_with 1 "tenon-probe: libtenon starts this program" "$probe"
    fails_with 1 "tenon-probe: it is of another release than libtenon" bash -c '"$0" x.so 1 $$ 9.9.9 3>answer; exit $?' "$probe"
    [ ! -s answer ]
}

@test "every instruction-set level runs, an unknown one is refused" {
    tenon run austen "She was" -n 6 --greedy >best
    TENON_CPU_ISA=scalar tenon run austen "She was" -n 6 --greedy >scalar
    cmp best scalar
    run --separate-stderr env TENON_CPU_ISA=mmx "$TENON" run austen a -n 1 --greedy
    [ "$status" -ne 0 ]
    [[ $stderr == *TENON_CPU_ISA* ]]
}

@test "general help, version, unknown commands" {
    run --separate-stderr tenon --help
    [ "$status" -eq 0 ]
    for command in run tokenize devices plugins; do [[ $output == *"$command"* ]]; done
    run --separate-stderr tenon --version
    [[ $output =~ ^"tenon "[0-9]+\.[0-9]+\.[0-9]+$ ]]
    fails_with 2 "did you mean 'tokenize'" tenon tokenise
    fails_with 2 "no command" tenon
}

@test "a plugin to begin with is written out, all of it or nothing" {
    run --separate-stderr tenon plugins new my-npu
    [ "$status" -eq 0 ]
    [ "${lines[0]}" = my-npu/my-npu.c ]
    [ "$(ls my-npu)" = "$(printf '%s\n' CMakeLists.txt LICENSE README.md my-npu.c try.c | sort)" ]
    [ "$(stat -c %a my-npu)" = "$(mkdir other && stat -c %a other)" ]
    run ! grep -rq template my-npu
    grep -q '"my-npu"' my-npu/my-npu.c
    run --separate-stderr tenon plugins new npu --dir deep/ --json
    [ "$(json 'o["schema_version"], o["name"], o["folder"], o["files"][0]')" = "(1, 'npu', 'deep', 'deep/npu.c')" ]

    echo mine >my-npu/my-npu.c   # what is there stays
    fails_with 6 "my-npu is there already" tenon plugins new my-npu
    [ "$(cat my-npu/my-npu.c)" = mine ]
    touch file
    fails_with 6 "file is there already" tenon plugins new npu --dir file
    fails_with 6 "no folder can be made for nowhere/npu: No such file" tenon plugins new npu --dir nowhere/npu
    fails_with 6 "cannot be written: File too large" bash -c "trap '' XFSZ; ulimit -f 1; exec '$TENON' plugins new npu --dir large"
    [ ! -e large ]
    [ -z "$(find . -name '*.??????' -type d)" ]   # nothing half-written is left
}

@test "names that no plugin can have are refused" {
    mkdir here && cd here
    for name in "" Npu "a b" ../npu a.b é 12345678901234567890123456789012; do
        fails_with 2 "is no name for a plugin" tenon plugins new "$name"
    done
    fails_with 2 "which NAME" tenon plugins new
    fails_with 2 "--dir is of 'plugins new NAME' only" tenon plugins --dir here
    fails_with 2 "--dir is empty" tenon plugins new npu --dir ""
    [ -z "$(ls)" ]
}
