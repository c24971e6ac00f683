#!/usr/bin/env python3
"""plan.py TENON MODELS [MINIMALLOC]: how near plans come to their lower bound, and in what time.

Prints a table for each kind of instance; times are the planner's own, on one thread, the best of a few runs:
- the instances of MiniMalloc, files NAME.CAPACITY.csv in the folder MINIMALLOC: as they are, with their rows shuffled,
  and with time reversed; within the capacity of their name; skipped without the folder;
- intervals that fill a memory without a gap (tests/support/planted.py), seeds 1 to 3;
- random graphs in layers (layered.py there), seeds 1 to 5;
- models: the embedded one, and those in the folder MODELS (tests/fetch-models), at batch 1 and 512.
Each plan is checked by `tenon plan --check`. Exit code 1 when one is wrong.
"""
import csv
import glob
import json
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from layered import as_csv, layered   # noqa: E402
from planted import planted   # noqa: E402

RUNS = 3
MODELS = ["SmolLM2-135M-Instruct.Q4_1.gguf", "gemma-3-270m-q4_k_m.gguf"]
CAPACITY_NOT_REACHED = 5


def tenon_json(command, text=None):
    """What the command prints, and whether it found a plan within the capacity. Ends the program when it fails."""
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode not in (0, CAPACITY_NOT_REACHED):
        print(f"{' '.join(command)}: exit code {done.returncode}: {done.stderr.strip()}")
        sys.exit(1)
    return json.loads(done.stdout), done.returncode == 0


def plan(tenon, rows, *options):
    """The plan, checked once; time_ms is the best of all runs."""
    text, command = as_csv(rows), [tenon, "plan", "--intervals", "-", "--json", *options]
    found, fits = tenon_json(command + ["--check"], text)
    for _ in range(RUNS - 1):
        again, _ = tenon_json(command, text)
        found["time_ms"] = min(found["time_ms"], again["time_ms"])
    return found, fits


def ratio(peak, bound):
    return peak / bound if bound else 1.0


def show(name, count, found, note=""):
    print(f"  {name:<36} {count:>7}  {ratio(found['peak'], found['lower_bound']):8.4f}  "
          f"{'yes' if found['proved_optimal'] else 'no':>6}  {found['time_ms']:10.3f}  {note}", flush=True)


def head(title):
    print(f"\n{title}\n  {'':<36} {'values':>7}  {'of bound':>8}  {'proved':>6}  {'ms':>10}")


def minimalloc(tenon, folder):
    files = sorted(glob.glob(os.path.join(folder, "*.csv"))) if folder else []
    head("MiniMalloc")
    if not files:
        print("  skipped: the folder of its instances is not given, or empty")
        return
    sums = {}
    for path in files:
        name, capacity = os.path.basename(path).split(".")[:2]
        with open(path, newline="", encoding="ascii") as file:
            rows = [(int(r["lower"]), int(r["upper"]), int(r["size"])) for r in csv.DictReader(file)]
        shuffled = list(rows)
        random.Random(1).shuffle(shuffled)
        orders = {"": rows, "shuffled": shuffled, "reversed": [(-up, -low, size) for low, up, size in rows]}
        for order, variant in orders.items():
            found, _ = plan(tenon, variant)
            sums[order] = sums.get(order, 0) + found["time_ms"]
            show(f"{name} {order}", len(rows), found)
            found, fits = plan(tenon, variant, "--capacity", capacity)
            show(f"{name} {order} within capacity".replace("  ", " "), len(rows), found, "" if fits else "not reached")
    print("  all without a capacity: " + ", ".join(f"{ms:.0f} ms {order}".strip() for order, ms in sums.items()))


def fillings(tenon):
    head("Fillings of 1 MiB without a gap")
    for kind in ("cut", "pinwheel", "bricks"):
        for count in (150, 300, 450):
            for seed in range(1, 4):
                rows = planted(kind, count, seed)
                found, _ = plan(tenon, rows)
                show(f"{kind} seed {seed}", len(rows), found)


def graphs(tenon):
    head("Random graphs in layers: the best of 1 s, and the time to 1.01 of the bound")
    for count in (1_000, 10_000, 100_000):
        for seed in range(1, 6):
            rows = layered(count, seed)
            found, _ = plan(tenon, rows)
            show(f"seed {seed}", count, found)
            found, fits = plan(tenon, rows, "--capacity", str(found["lower_bound"] * 101 // 100))
            show(f"seed {seed} within 1.01", count, found, "" if fits else "not reached")


def models(tenon, folder):
    head("Models")
    for name in ["austen"] + [os.path.join(folder, name) for name in MODELS]:
        if name != "austen" and not os.path.exists(name):
            print(f"  skipped: {os.path.basename(name)} is not there, see tests/fetch-models")
            continue
        for batch in ("1", "512"):
            command = [tenon, "plan", name, "--batch", batch, "--json", "--device", "cpu0"]
            found = [tenon_json(command + ["--check"])[0]["graphs"][-1] for _ in range(RUNS)]
            it = found[0]["plans"][0]
            show(f"{os.path.basename(name)[:28]}, {found[0]['tokens']}", found[0]["steps"],
                 {"peak": it["peak_bytes"], "lower_bound": it["lower_bound_bytes"],
                  "proved_optimal": it["proved_optimal"],
                  "time_ms": min(graph["plans"][0]["planning_ms"] for graph in found)}, f"{it['peak_bytes']} bytes")


def main(tenon, model_folder, minimalloc_folder=None):
    minimalloc(tenon, minimalloc_folder)
    fillings(tenon)
    graphs(tenon)
    models(tenon, model_folder)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
