#!/usr/bin/env python3
"""plugins.py TENON MISBEHAVING TEST_PLUGINS [CANDIDATES] [--small]: how long it takes to find out about many plugins.

A folder of candidates is made from the plugins of tests/plugins: good ones, each with a name of its own, ones that
are refused from their file, ones that crash in a constructor, ones that hang. `tenon plugins` lists them with a
time-out of 500 ms: cold, where nothing is known of them, and warm, where all is. Printed are the whole process, and
what a candidate adds to a start without any. Bounds for 50 candidates: cold 2 s, warm 20 ms, and 2 ms for each, warm.

--small: the bounds of an ordinary test, which holds on a busy machine and under sanitizers; another verdict than
expected is a failure as well. Exit code 1 when a bound is broken.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import time

COLD_MS, WARM_MS, EACH_MS = 2000, 20, 2
TIMEOUT_MS = 500
RUNS = 15


def named(data, name):
    """The file of a plugin called `good`, with that of another name in its manifest: 32 bytes, filled with zeros."""
    old = b"good" + bytes(28)
    if old not in data:
        sys.exit("the plugin 'good' has no such name in its manifest")
    return data.replace(old, name.encode() + bytes(32 - len(name)))


def make(folder, misbehaving, test_plugins, count):
    """The candidates; how many of each state are to come."""
    with open(os.path.join(misbehaving, "good.so"), "rb") as file:
        good = file.read()
    expected = {"loaded": 0, "rejected": 0, "quarantined": 0}
    for i in range(count):
        path = os.path.join(folder, f"candidate{i:03}.so")
        kind = i % 5
        if kind <= 1:
            with open(path, "wb") as file:
                file.write(named(good, f"good{i}"))
            expected["loaded"] += 1
        elif kind == 2:
            shutil.copy(os.path.join(test_plugins, ("no_manifest.so", "abi_newer.so", "start_fails.so")[i // 5 % 3]), path)
            expected["rejected"] += 1
        else:
            name = "crash_at_load.so" if kind == 3 else "hang_at_load.so"
            shutil.copy(os.path.join(misbehaving, name), path)
            expected["quarantined"] += 1
    return expected


class Place:
    """A home of its own, so that nothing is known."""

    def __init__(self, tenon, folder, candidates, timeout_ms):
        self.tenon, self.candidates, self.timeout_ms = tenon, candidates, timeout_ms
        self.home = tempfile.mkdtemp(dir=folder)

    def start(self):
        """Milliseconds of the process, and how many candidates it told of each state."""
        environment = dict(os.environ, HOME=self.home, XDG_CONFIG_HOME=self.home, XDG_CACHE_HOME=self.home,
                           TENON_PLUGIN_PATH=self.candidates)
        command = [self.tenon, "plugins", "--why", "--set", f"plugins.probe_timeout_ms={self.timeout_ms}"]
        begin = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        wall_ms = (time.monotonic() - begin) * 1e3
        lines = [line.split() for line in done.stdout.splitlines() if "/candidate" in line]
        states = ["loaded" if "ABI" in line else line[1] for line in lines]
        return wall_ms, {state: states.count(state) for state in ("loaded", "rejected", "quarantined")}


def main(tenon, misbehaving, test_plugins, count, is_small):
    timeout_ms = 3000 if is_small else TIMEOUT_MS
    with tempfile.TemporaryDirectory() as folder:
        candidates, nothing = os.path.join(folder, "candidates"), os.path.join(folder, "nothing")
        os.mkdir(candidates)
        os.mkdir(nothing)
        expected = make(candidates, misbehaving, test_plugins, count)
        cold, warm, empty, faults = [], [], [], []
        for _ in range(1 if is_small else 3):
            place = Place(tenon, folder, candidates, timeout_ms)
            for to, times in ((cold, 1), (warm, 2 if is_small else RUNS)):
                for _ in range(times):
                    wall_ms, states = place.start()
                    to.append(wall_ms)
                    if states != expected:
                        faults.append(f"{states} instead of {expected}")
            other = Place(tenon, folder, nothing, timeout_ms)
            other.start()
            empty += [other.start()[0] for _ in range(1 if is_small else RUNS)]
    each = max(0.0, min(warm) - min(empty)) / count
    print(f"{count} candidates: {', '.join(f'{n} {state}' for state, n in expected.items())}; time-out {timeout_ms} ms")
    print(f"{'':28} {'best':>9} {'worst':>9}")
    for name, times in (("cold, all tried", cold), ("warm", warm), ("warm, no candidates", empty)):
        print(f"{name:28} {min(times):6.1f} ms {max(times):6.1f} ms")
    print(f"{'warm, each':28} {each:6.3f} ms")
    if is_small:   # all that hang do so side by side
        faults += [f"cold {min(cold):.0f} ms"] if min(cold) > 2 * timeout_ms + 2000 else []
        faults += [f"warm {min(warm):.0f} ms: something was tried again"] if min(warm) > timeout_ms else []
    else:
        faults += [f"cold {min(cold):.0f} ms, at most {COLD_MS}"] if min(cold) > COLD_MS else []
        faults += [f"warm {min(warm):.1f} ms, at most {WARM_MS}"] if min(warm) > WARM_MS else []
        faults += [f"warm {each:.2f} ms each, at most {EACH_MS}"] if each > EACH_MS else []
    for fault in faults:
        print(f"broken: {fault}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    WORDS = [word for word in sys.argv[1:] if word != "--small"]
    sys.exit(main(*WORDS[:3], int(WORDS[3]) if len(WORDS) > 3 else 50, "--small" in sys.argv))
