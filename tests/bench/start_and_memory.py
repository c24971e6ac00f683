#!/usr/bin/env python3
"""start_and_memory.py TENON MODEL: how soon the first token comes, and the most memory that a run takes.

Two bounds, both printed with what was measured, at the default context, with the file in the page cache:
- from the start of the process to its end with one new token, without the time of the prompt: 150 ms, the best of
  many runs, since the machine does other things as well;
- the largest RssAnon over load, prompt and decoding: the plan that `--json` tells, and 24 MB.
Exit code 1 when one is broken, 77 when the model is not there.
"""
import json
import os
import subprocess
import sys
import time

START_MS = 150
MOST_BEYOND_PLAN = 24_000_000
RUNS = 15
PROMPT = "The quick brown fox jumps over the lazy dog. " * 70   # more than one batch of 512 tokens


def time_of(command):
    """Wall time in ms of the process, and the JSON that it printed."""
    begin = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return (time.monotonic() - begin) * 1e3, json.loads(done.stdout)


def memory_of(command):
    """The largest RssAnon seen in bytes, looked at every 2 ms and at the end, and the JSON that was printed."""
    most = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            try:
                with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
                    most = max([most] + [int(line.split()[1]) * 1024 for line in file if line.startswith("RssAnon")])
            except OSError:
                break
            time.sleep(0.002)
        result = json.loads(process.stdout.read())
    return max(most, result["memory"]["rss_anon_bytes"]), result


def prompt_ms(result):
    return len(result["prompt_tokens"]) / result["timing"]["prefill_tokens_per_s"] * 1e3


def main(tenon, model):
    if not os.path.exists(model):
        print(f"skipped: {model} is not there, see tests/fetch-models")
        return 77
    start, loads = [], []
    for _ in range(RUNS):
        wall_ms, result = time_of([tenon, "run", model, "Hello", "-n", "1", "--greedy", "--json"])
        start.append(wall_ms - prompt_ms(result))
        loads.append(result["timing"]["load_ms"])
    print(f"start to first token without the prompt: best {min(start):.0f} ms, worst {max(start):.0f} ms of {RUNS} "
          f"runs (of it load_ms: best {min(loads):.0f}); at most {START_MS}")
    most, result = memory_of([tenon, "run", model, PROMPT, "-n", "32", "--greedy", "--ignore-eos", "--json"])
    memory = result["memory"]
    plan = memory["planned_bytes"]
    print(f"RssAnon: at most {most / 1e6:.1f} MB with {len(result['prompt_tokens'])} prompt and 32 new tokens; "
          f"plan {plan / 1e6:.1f} MB, at most {(plan + MOST_BEYOND_PLAN) / 1e6:.1f}")
    return int(min(start) > START_MS or most > plan + MOST_BEYOND_PLAN)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
