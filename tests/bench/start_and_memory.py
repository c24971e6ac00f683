#!/usr/bin/env python3
"""start_and_memory.py TENON MODEL: how soon the first token comes, and the most memory that a run takes.

Two bounds, both printed with what was measured, at the default context, with the file in the page cache:
- from the start of the process to its end with one new token, without the time of the prompt: 150 ms, the best of
  some runs, since the machine does other things as well;
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
RUNS = 7
PROMPT = "The quick brown fox jumps over the lazy dog. " * 70   # more than one batch of 512 tokens


def run(command):
    """Wall time in ms, the largest RssAnon seen in bytes, and the JSON that was printed."""
    begin = time.monotonic()
    most = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        status = f"/proc/{process.pid}/status"
        while process.poll() is None:
            try:
                with open(status, encoding="ascii") as file:
                    lines = [line for line in file if line.startswith("RssAnon")]
            except OSError:
                break
            most = max([most] + [int(line.split()[1]) * 1024 for line in lines])
            time.sleep(0.002)
        text = process.stdout.read()
    wall_ms = (time.monotonic() - begin) * 1e3
    if process.returncode:
        sys.exit(f"{command} ends with {process.returncode}")
    result = json.loads(text)
    return wall_ms, max(most, result["memory"]["rss_anon_bytes"]), result


def prompt_ms(result):
    return len(result["prompt_tokens"]) / result["timing"]["prefill_tokens_per_s"] * 1e3


def main(tenon, model):
    if not os.path.exists(model):
        print(f"skipped: {model} is not there, see tests/fetch-models")
        return 77
    start, loads = [], []
    for _ in range(RUNS):
        wall_ms, _, result = run([tenon, "run", model, "Hello", "-n", "1", "--greedy", "--json"])
        start.append(wall_ms - prompt_ms(result))
        loads.append(result["timing"]["load_ms"])
    print(f"start to first token without the prompt: best {min(start):.0f} ms, worst {max(start):.0f} ms of {RUNS} "
          f"runs (of it load_ms: best {min(loads):.0f}); at most {START_MS}")
    _, most, result = run([tenon, "run", model, PROMPT, "-n", "32", "--greedy", "--ignore-eos", "--json"])
    memory = result["memory"]
    plan = memory["planned_bytes"]
    print(f"RssAnon: at most {most / 1e6:.1f} MB with {len(result['prompt_tokens'])} prompt and 32 new tokens; "
          f"plan {plan / 1e6:.1f} MB, at most {(plan + MOST_BEYOND_PLAN) / 1e6:.1f}")
    return int(min(start) > START_MS or most > plan + MOST_BEYOND_PLAN)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
