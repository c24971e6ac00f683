#!/usr/bin/env python3
"""schedule.py TENON SIM [MODELS]: which device runs what of a model, beside greedy and the bound.

Prints a table for each model, the embedded one and those in the folder MODELS (tests/fetch-models): under each setting
of simulated devices (SIM is their plugin), at batch 1 and the largest, how many segments and copies there are, what the
schedule costs by the cost model, how much more greedy would cost, and how far the cost may be from the least there is.
Each schedule's segments and copies have to add up to its cost, which is never above greedy's nor below the bound, and
its memory plan is checked. Exit code 1 when something is wrong.
"""
import json
import os
import subprocess
import sys
import tempfile

MODELS = ["SmolLM2-135M-Instruct.Q4_1.gguf", "gemma-3-270m-q4_k_m.gguf"]
OUT_OF_MEMORY = 5
GPU = {"name": "a"}
# (name, devices; a number of bytes as a string is that part of what device a alone needs)
SETTINGS = [
    ("GPU and CPU", [GPU]),
    ("two equal GPUs", [GPU, {"name": "b"}]),
    ("a slow link", [{"name": "a", "except": ["rms_norm", "mul"], "link_gbps": 0.5, "latency_us": 100}]),
    ("a fast link", [{"name": "a", "except": ["rms_norm", "mul"], "link_gbps": 100, "latency_us": 1}]),
    ("rms_norm refused", [{"name": "a", "except": ["rms_norm", "mul"]}]),
    ("rope refused, decomposed", [{"name": "a", "except": ["rope"]}]),
    ("half the memory", [{"name": "a", "memory_bytes": "0.5"}]),
    ("half the memory each of two", [{"name": "a", "memory_bytes": "0.6"}, {"name": "b", "memory_bytes": "0.6"}]),
    ("not visible to the host", [{"name": "a", "host_visible": False, "except": ["get_rows"]}]),
    ("three of three speeds", [{"name": "a", "except": ["matmul"]}, {"name": "b", "gflops": 2000, "gbps": 300},
                               {"name": "c", "gflops": 500, "gbps": 100}]),
    ("peers", [{"name": "a", "except": ["rms_norm", "mul"], "peer": True},
               {"name": "b", "only": ["rms_norm", "mul", "add"], "peer": True}]),
    ("no peers", [{"name": "a", "except": ["rms_norm", "mul"]}, {"name": "b", "only": ["rms_norm", "mul", "add"]}]),
    ("no F16", [{"name": "a", "dtypes": ["F32", "Q8_0", "Q4_1", "Q6_K", "Q4_K", "Q5_K", "Q4_0", "Q5_0"]}]),
    ("fusions", [{"name": "a", "fuse": True}]),
    ("fusions on two", [{"name": "a", "fuse": True, "except": ["swiglu", "geglu", "mul"]},
                        {"name": "b", "fuse": True, "gflops": 4000, "gbps": 400}]),
]


def plan(tenon, sim, model, batch, devices, environment):
    """What `tenon plan` prints; None when it is out of memory. Ends the program when it fails otherwise."""
    command = [tenon, "plan", model, "--batch", str(batch), "--json", "--check", "--plugin", sim,
               "--set", "plugin.sim.devices=" + json.dumps(devices)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode == OUT_OF_MEMORY:
        return None
    if done.returncode != 0:
        print(f"{' '.join(command)}: exit code {done.returncode}: {done.stderr.strip()}")
        sys.exit(1)
    return json.loads(done.stdout)


def check(where, plan_of_model):
    """Faults of each graph's schedule."""
    faults = []
    for graph in plan_of_model["graphs"]:
        cost = sum(s["cost_ns"] for s in graph["segments"]) + sum(c["cost_ns"] for c in graph["copies"])
        nearly = 1e-6 * graph["cost_ns"] + 1
        if abs(cost - graph["cost_ns"]) > nearly:
            faults.append(f"segments and copies cost {cost}, not {graph['cost_ns']}")
        if graph["greedy_fits"] and graph["cost_ns"] > graph["greedy_ns"] + nearly:
            faults.append(f"it costs {graph['cost_ns']}, greedy {graph['greedy_ns']}")
        if graph["cost_ns"] < graph["bound_ns"] - nearly:
            faults.append(f"it costs {graph['cost_ns']}, below the bound {graph['bound_ns']}")
        if sum(s["steps"] for s in graph["segments"]) != graph["steps"]:
            faults.append("segments have other steps than the graph")
        for before, segment in zip(graph["segments"], graph["segments"][1:]):
            if (before["device"] == segment["device"]) != (segment["why"] == "overlap"):
                faults.append(f"a segment begins at {segment['first_node']}: {segment['reason']}")
    for fault in faults:
        print(f"  {where}: {fault}")
    return faults


def show(name, graph):
    ratio = (f"{graph['greedy_ns'] / graph['cost_ns']:9.3f}" if graph["greedy_fits"] else
             f"{'no room' if graph['greedy_ns'] else 'none':>9}")
    gap = graph["cost_ns"] / graph["bound_ns"] - 1 if graph["bound_ns"] > 0 else 0
    where = {}
    for segment in graph["segments"]:
        where[segment["device"]] = where.get(segment["device"], 0) + segment["nodes"]
    print(f"  {name:<28} {graph['tokens']:>5} {len(graph['segments']):>9} {len(graph['copies']):>7} "
          f"{graph['cost_ns'] / 1e6:>12.3f} {ratio} {100 * max(gap, 0):>8.3f} %  "
          f"{graph['method'] + (', proved' if graph['cost_proved_optimal'] else ''):<20} "
          f"{', '.join(f'{count} on {device}' for device, count in where.items())}", flush=True)


def sized(devices, needed):
    """Parts of what is needed as bytes."""
    return [{key: int(float(value) * needed) if key == "memory_bytes" else value for key, value in device.items()}
            for device in devices]


def model_table(tenon, sim, model, environment):
    print(f"\n{os.path.basename(model)}\n  {'':<28} {'batch':>5} {'segments':>9} {'copies':>7} {'cost in ms':>12} "
          f"{'greedy':>9} {'gap below':>10}  {'by':<20} nodes")
    faults = []
    needed = plan(tenon, sim, model, 512, [GPU], environment)["devices"][0]["needed_bytes"]
    for name, devices in SETTINGS:
        found = plan(tenon, sim, model, 512, sized(devices, needed), environment)
        if not found:
            print(f"  {name:<28} does not fit")
            continue
        faults += check(name, found)
        for graph in (found["graphs"][0], found["graphs"][-1]):
            show(name, graph)
    return faults


def main(tenon, sim, folder=None):
    models = ["austen"] + [os.path.join(folder, name) for name in MODELS if folder]
    faults = []
    with tempfile.TemporaryDirectory() as empty:   # no figures but those of the settings
        environment = dict(os.environ, XDG_CACHE_HOME=empty, XDG_CONFIG_HOME=empty)
        for model in models:
            if model != "austen" and not os.path.exists(model):
                print(f"\nskipped: {os.path.basename(model)} is not there, see tests/fetch-models")
                continue
            faults += model_table(tenon, sim, model, environment)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
