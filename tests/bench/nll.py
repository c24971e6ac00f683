#!/usr/bin/env python3
"""nll.py TENON MODEL TEXT [--llama SOURCES BUILD] [--ctx 512] [--tokens 20001] [-t 2] [--set KEY=VALUE]: -ln p of a text.

Measures how well a model predicts a text, by Tenon and by llama.cpp on the same tokens in the same windows, and
compares them token by token: the mean of the differences with its standard error. Ends with 1 when Tenon's mean is
above the other's by more than two standard errors.
  --llama   the folder of llama.cpp's sources and the one in which its libraries were built
"""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def by_tenon(given):
    settings = [part for s in given.set for part in ("--set", s)]
    report = subprocess.run([given.tenon, "perplexity", given.model, given.text, "--ctx", str(given.ctx), "--max-tokens",
                             str(given.tokens), "-t", str(given.threads), "--each", "--json", *settings],
                            stdout=subprocess.PIPE, check=True)
    return [(e["id"], e["nll"]) for e in json.loads(report.stdout)["each"]]


def first_id(given):
    with open(given.text, "rb") as text:
        ids = subprocess.run([given.tenon, "tokenize", given.model, "--json"], stdin=text, stdout=subprocess.PIPE,
                             check=True)
    return json.loads(ids.stdout)["tokens"][0]


def by_llama(given, ids):
    sources, build = given.llama
    libraries = os.path.join(os.path.abspath(build), "bin")
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "nll_peer")
        subprocess.run(["cc", "-O2", "-I", os.path.join(sources, "include"), "-I", os.path.join(sources, "ggml", "include"),
                        os.path.join(HERE, "nll_peer.c"), "-o", program, "-L", libraries, "-Wl,-rpath," + libraries,
                        "-lllama", "-lggml", "-lggml-base", "-lm"], check=True)
        lines = subprocess.run([program, given.model, str(given.ctx), str(given.threads)], stdout=subprocess.PIPE,
                               input=" ".join(map(str, ids)).encode(), check=True).stdout.split(b"\n")
    return [(int(line.split()[0]), float(line.split()[1])) for line in lines if line]


def mean_and_error(values):
    mean = sum(values) / len(values)
    variance = sum((v - mean) ** 2 for v in values) / (len(values) - 1)
    return mean, math.sqrt(variance / len(values))


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("tenon")
    parser.add_argument("model")
    parser.add_argument("text")
    parser.add_argument("--llama", nargs=2)
    parser.add_argument("--ctx", type=int, default=512)
    parser.add_argument("--tokens", type=int, default=20001)
    parser.add_argument("-t", dest="threads", type=int, default=2)
    parser.add_argument("--set", action="append", default=[])
    given = parser.parse_args()
    own = by_tenon(given)
    print("tenon      %d tokens  %.5f +- %.5f" % (len(own), *mean_and_error([nll for _, nll in own])))
    if not given.llama:
        return 0
    other = by_llama(given, [first_id(given)] + [i for i, _ in own])
    if [i for i, _ in own] != [i for i, _ in other]:
        sys.exit("nll.py: the peer printed other tokens")
    print("llama.cpp  %d tokens  %.5f +- %.5f" % (len(other), *mean_and_error([nll for _, nll in other])))
    mean, error = mean_and_error([a[1] - b[1] for a, b in zip(own, other)])
    print("difference %+.5f +- %.5f, of each token" % (mean, error))
    return mean > 2 * error


if __name__ == "__main__":
    sys.exit(main())
