#!/usr/bin/env bats
# tenon run where a control group gives it half a core. Skipped where no group can be made.
bats_require_minimum_version 1.5.0
load common

make_group() {
    if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
        group=/sys/fs/cgroup/tenon-test-$$
        mkdir "$group" && echo "50000 100000" >"$group/cpu.max"
    else
        group=/sys/fs/cgroup/cpu/tenon-test-$$
        mkdir "$group" && echo 100000 >"$group/cpu.cfs_period_us" && echo 50000 >"$group/cpu.cfs_quota_us"
    fi
}

teardown() { [ ! -d "$group" ] || rmdir "$group"; }

# rate THREADS: tokens per second, the best of three.
rate() {
    for i in 1 2 3; do
        bash -c "echo \$\$ >$group/cgroup.procs && exec \"\$TENON\" run austen She -n 250 --greedy --ignore-eos -t $1 --json"
    done | python3 -c 'import json,sys; print(round(max(json.loads(l)["timing"]["decode_tokens_per_s"] for l in sys.stdin)))'
}

@test "eight threads in half a core take at most four times as long as one" {
    make_group 2>/dev/null || skip "no control group can be made here"
    one=$(rate 1) eight=$(rate 8)
    echo "# tokens per second in half a core: 1 thread $one, 8 threads $eight" >&3
    [ $((eight * 4)) -ge "$one" ]
}
