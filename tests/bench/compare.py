#!/usr/bin/env python3
"""compare.py TENON MODEL [--llama LLAMA_BENCH] [--ik PYTHON] [-p 512] [-n 64] [-t 1,2] [-r 5]: Tenon beside others.

Runs Tenon and each peer in turn, one test with one number of threads at a time, -r times, and prints the best tokens a
second of each and the ratios of these: machines are noisy, and only what was measured in turn can be compared.
  --llama   the program llama-bench of a llama.cpp that was built for this machine
  --ik      a Python in which ik_llama_cpp can be imported; without flash attention, as it is by default, and with it
A peer that is not given, or not there, is left out; without any the speeds of Tenon are printed alone.
"""
import argparse
import json
import os
import subprocess
import sys

IK = r"""
import json, random, sys, time
from ik_llama_cpp import _ctypes_api as api
from ik_llama_cpp._internals import IkContext, IkModel, make_batch_range, make_batch_single
path, threads, prompt, decode, flash = sys.argv[1], *map(int, sys.argv[2:6])
context = IkContext(IkModel(path), n_ctx=max(1024, prompt + decode + 32), n_threads=threads, flash_attn=bool(flash))
random.seed(1)
ids = [random.randrange(100, 40000) for _ in range(max(prompt, decode, 16))]
def run(batch):
    if context.decode(batch):
        sys.exit("decode failed")
    context.get_logits(-1)
    api.llama_batch_free(batch)
def time_of(count, work):
    begin = time.perf_counter()
    work()
    return count / (time.perf_counter() - begin)
def whole():
    context.kv_cache_clear()
    run(make_batch_range(ids[:prompt], pos_start=0, logits_last=True))
def single():
    for i in range(decode):
        run(make_batch_single(ids[i], 16 + i))
whole()
speeds = {"pp": time_of(prompt, whole)}
context.kv_cache_clear()
run(make_batch_range(ids[:16], pos_start=0, logits_last=True))
speeds["tg"] = time_of(decode, single)
print(json.dumps(speeds))
"""


def output_of(command):
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout)


def tenon(program, model, threads, prompt, decode):
    results = output_of([program, "bench", model, "-p", str(prompt), "-n", str(decode), "-t", str(threads), "-r", "1",
                         "--json"])["results"]
    return {r["test"][:2]: r["best"] for r in results}


def llama(program, model, threads, prompt, decode):
    results = output_of([program, "-m", model, "-p", str(prompt), "-n", str(decode), "-t", str(threads), "-r", "1", "-o",
                         "json"])
    return {"pp" if r["n_prompt"] else "tg": r["avg_ts"] for r in results}


def ik(flash):
    def run(program, model, threads, prompt, decode):
        return output_of([program, "-c", IK, model, str(threads), str(prompt), str(decode), str(flash)])
    return run


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        return next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), "?")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("tenon")
    parser.add_argument("model")
    parser.add_argument("--llama")
    parser.add_argument("--ik")
    parser.add_argument("-p", type=int, default=512)
    parser.add_argument("-n", type=int, default=64)
    parser.add_argument("-t", default="1,2")
    parser.add_argument("-r", type=int, default=5)
    given = parser.parse_args()
    runners = [("tenon", tenon, given.tenon)]
    for name, run, program in (("llama.cpp", llama, given.llama), ("ik_llama.cpp", ik(0), given.ik),
                               ("ik_llama.cpp with flash attention", ik(1), given.ik)):
        if program and os.access(program, os.X_OK):
            runners.append((name, run, program))
        else:
            print(f"left out: {name}: {program + ' is not there' if program else 'not given'}")
    print(f"{os.path.basename(given.model)}, {processor()}, best of {given.r}, in turn")
    for threads in map(int, given.t.split(",")):
        best = {name: {"pp": 0.0, "tg": 0.0} for name, _, _ in runners}
        for _ in range(given.r):
            for name, run, program in runners:
                for test, speed in run(program, given.model, threads, given.p, given.n).items():
                    best[name][test] = max(best[name][test], speed)
        for test, count in ("pp", given.p), ("tg", given.n):
            row = f"{test}{count:<5} {threads} thread{'s' if threads > 1 else ' '}  tenon {best['tenon'][test]:9.1f}"
            for name, _, _ in runners[1:]:
                row += f"   {name} {best[name][test]:9.1f}, ratio {best['tenon'][test] / best[name][test]:5.2f}"
            print(row, flush=True)


if __name__ == "__main__":
    sys.exit(main())
