#!/usr/bin/env bats
# tenon conform: what it prints, exit codes, filters, settings.
bats_require_minimum_version 1.5.0
load ../cli/common
: "${TEMPLATE:?}" "${CPU:?}" "${FAULTY:?}"

@test "a summary; every case is named once" {
    run --separate-stderr tenon conform "$TEMPLATE" --filter queues
    [ "$status" -eq 0 ] && [ -z "$stderr" ] && [ "${#lines[@]}" -eq 1 ]
    [[ $output == "$TEMPLATE: 16 cases passed, 0 failed, 0 skipped on 1 device; 0 of "*" ops tried; "*" s" ]]
    tenon conform --list > cases
    [ -z "$(sort cases | uniq -d)" ]
    [ "$(wc -l < cases)" -gt 9000 ]
}

@test "filters: a theme, a case, a pattern, several" {
    run --separate-stderr tenon conform --list --filter queues.cancelled_work_never_starts --filter 'memory.*map*'
    [ "$output" = "memory.a_map_is_coherent
queues.cancelled_work_never_starts" ]
    run --separate-stderr tenon conform --list --filter ops.silu.f16.A33B5C3
    [ "${#lines[@]}" -gt 10 ] && [ "${lines[0]}" = ops.silu.f16.A33B5C3 ]
    fails_with 2 "no case fits the filter; tenon conform --list shows the cases" tenon conform --list --filter queue
    fails_with 2 "no case fits the filter" tenon conform "$TEMPLATE" --filter queue
}

@test "a failed case: a line, exit code 1, and the way to run it again with the same settings" {
    run --separate-stderr tenon conform "$FAULTY/cost_nan.so" --filter claims.a_chain_is_convex_and_runs --set a=b
    [ "$status" -eq 1 ] && [ "${#lines[@]}" -eq 2 ]
    [[ ${lines[0]} == "FAILED claims.a_chain_is_convex_and_runs: want a claim's cost is finite and above 0; got nan ns; again: tenon conform $FAULTY/cost_nan.so --filter 'claims.a_chain_is_convex_and_runs' --set 'a=b'" ]]
}

@test "a setting that the plugin does not ask for" {
    run --separate-stderr tenon conform "$CPU" --filter life.settings_are_asked_for_in_start_or_open --set threads=2 --set treads=2
    [ "$status" -eq 1 ] && [ "${#lines[@]}" -eq 2 ]
    [[ ${lines[0]} == "FAILED life.settings_are_asked_for_in_start_or_open: want the plugin asks for its setting 'treads' in start or open; got nobody asked"* ]]
    run --separate-stderr tenon conform "$CPU" --filter life.settings_are_asked_for_in_start_or_open --set threads=2
    [ "$status" -eq 0 ]
}

@test "JSON: counts, and each case with what was expected and what came" {
    run --separate-stderr tenon conform "$FAULTY/cost_nan.so" --filter claims --json
    [ "$status" -eq 1 ] && [ -z "$stderr" ]
    [ "$(json 'o["schema_version"], len(o["cases"]) == o["passed"] + o["failed"] + o["skipped"], o["devices"]')" = "(1, True, 1)" ]
    [ "$(json '[c["expected"] for c in o["cases"] if c["name"] == "claims.a_chain_is_convex_and_runs"]')" = '["a claim'"'"'s cost is finite and above 0"]' ]
    [ "$(json '{c["outcome"] for c in o["cases"] if "got" in c}')" = "{'failed'}" ]
    run --separate-stderr tenon conform --list --json --filter file
    [ "$(json 'o["schema_version"], o["cases"][0]')" = "(1, 'file.the_file_has_one_manifest_and_the_table_shows_it')" ]
}

@test "what is skipped says why, when asked" {
    run --separate-stderr tenon conform "$TEMPLATE" --filter ops.add.f32.A1 --verbose
    [ "$status" -eq 0 ] && [[ ${lines[0]} == "skipped ops.add.f32.A1: refused: this device computes silu only" ]]
}

@test "a case that takes too long is killed" {
    run --separate-stderr tenon conform "$FAULTY/hangs.so" --filter programs.many_programs_live_side_by_side --timeout 300
    [ "$status" -eq 1 ] && [[ $output == *"got it takes longer than 300 ms"* ]]
}

@test "what is no plugin" {
    echo "no plugin" > text.so
    fails_with 6 "tenon: nowhere.so: No such file or directory" tenon conform nowhere.so
    fails_with 4 "text.so: want the file can be loaded" tenon conform ./text.so
    fails_with 4 "want the query answers a table" tenon conform "$TENON_TEST_PLUGINS/query_silent.so"
    fails_with 3 "offers no device" tenon conform "$TENON_TEST_PLUGINS/no_devices.so"
    fails_with 2 "the file of a plugin is missing" tenon conform
    fails_with 2 "--list takes no file" tenon conform --list "$TEMPLATE"
    fails_with 2 "--set threads: KEY=VALUE of the plugin is meant, without its name" tenon conform "$CPU" --set threads
    fails_with 2 "--set plugin.cpu.threads=2: KEY=VALUE of the plugin is meant" tenon conform "$CPU" --set plugin.cpu.threads=2
    run --separate-stderr tenon conform "$TENON_TEST_PLUGINS/clash_a.so" --filter file.one_symbol_is_exported
    [ "$status" -eq 1 ] && [[ $output == *"tenon_plugin_query is exported, and nothing else"* ]]
}

@test "a plugin that simulates a loss keeps the rules of a lost device" {
    run --separate-stderr tenon conform "$TENON_TEST_PLUGINS/sim.so" --filter faults.a_loss_that_the_plugin_simulates \
        --set 'devices=[{"fail":{"call":"queue_submit","at":3,"lost":true}}]'
    [ "$status" -eq 0 ] && [[ $output == *": 1 case passed, 0 failed, 0 skipped"* ]]
    run --separate-stderr tenon conform "$TENON_TEST_PLUGINS/sim.so" --filter faults.a_loss_that_the_plugin_simulates \
        --set 'devices=[{"fail":{"call":"work","at":2,"lost":true}}]'
    [ "$status" -eq 0 ] && [[ $output == *": 1 case passed, 0 failed, 0 skipped"* ]]
}

@test "the documents name cases that there are, and every op has its bound and its rows" {
    "$TENON" conform --list > cases
    python3 - "$SOURCE" cases <<'PY'
import fnmatch, re, sys
root, cases = sys.argv[1], open(sys.argv[2]).read().split()
themes = "|".join(sorted({c.split(".")[0] for c in cases}))
rules = open(root + "/sdk/docs/rules.md").read()
named = re.findall(rf"`((?:{themes})(?:\.[\w*.]+)?)`", rules)
assert len(named) > 40, named
for name in named:
    assert any(fnmatch.fnmatchcase(c, name) or c.startswith(name + ".") for c in cases), name
ops = re.findall(r"^OP\(\s*(\d+), \w+,\s+(\w+)", open(root + "/sdk/include/tenon/ops.def").read(), re.M)
bounds = open(root + "/sdk/conform/bounds.c").read()
table = open(root + "/sdk/docs/conformance.md").read()
for number, op in ops:
    if int(number) >= 16:
        assert re.search(rf'" (?:\w+ )*{op} (?:\w+ )*"', bounds), f"{op} has no bound"
        assert re.search(rf"^\| `(?:\w+ )*{op}(?: \w+)*` \|", table, re.M), f"{op} is not in the table"
        assert any(c.startswith(f"ops.{op}.") for c in cases), f"{op} has no case"
PY
}

@test "all devices of a plugin are tried, and the line says which failed" {
    run --separate-stderr tenon conform "$TENON_TEST_PLUGINS/sim.so" --set 'devices=[{},{"fail":{"call":"buffer_alloc","at":1}}]' \
        --filter memory.zeros_and_buffers_are_copied
    [ "$status" -eq 1 ] && [ "${#lines[@]}" -eq 2 ]
    [[ ${lines[0]} == "FAILED memory.zeros_and_buffers_are_copied on device 1: want buffer_alloc answers TNP_OK; got TNP_E_DEVICE_MEMORY"* ]]
    [[ ${lines[1]} == *": 1 case passed, 1 failed, 0 skipped on 2 devices;"* ]]
}

@test "a file in the current folder is meant, with a slash or without" {
    cp "$TEMPLATE" bare.so
    run -0 "$TENON" conform bare.so --filter file
}
