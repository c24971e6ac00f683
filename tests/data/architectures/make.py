#!/usr/bin/env python3
"""Small random models of every architecture, and what they must answer.

    make.py [FOLDER]

writes FOLDER/NAME.gguf and NAME.json for each of MODELS (default: beside this
file).  The weights come from a seed, the answers from a float32 forward pass
in numpy over the weights as the file holds them.  The answers have the format
of ../golden/README.md, without texts: these models have no tokenizer.  Needs
Python with numpy and gguf.

Each model has what is special in its architecture, and sizes that differ from
each other wherever the architecture lets them: a matrix used the wrong way
round, or a head too many, does not fit.
"""
import hashlib
import json
import os
import sys

import numpy as np
from gguf import GGUFReader, GGUFWriter

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden"))
from reference import best, gelu_tanh, rms_norm, silu, softmax, token_nll  # noqa: E402

F32 = np.float32
CONTEXT, VOCABULARY, EPS = 128, 72, 1e-5


# ------------------------------------------------------------- the models

# E embedding, L layers, H heads, G key heads, D head size, F feed-forward.
MODELS = {
    # Every bias that a llama file may have, a factor for each frequency,
    # positions scaled, an output matrix of its own: with the first 8 elements
    # of a head rotated, and with all.
    "llama": dict(architecture="llama", seed=1, E=40, L=2, H=4, G=2, D=16, F=56,
                  biases=("attn_q", "attn_k", "attn_v", "attn_output",
                          "ffn_gate", "ffn_up", "ffn_down"),
                  rot=8, base=500000.0, factor=2.0, rope_freqs=True, output=True),
    "llama_full": dict(architecture="llama", seed=5, E=40, L=2, H=4, G=2, D=16, F=56,
                       biases=("attn_q", "attn_k", "attn_v", "attn_output",
                               "ffn_gate", "ffn_up", "ffn_down"),
                       base=500000.0, factor=2.0, rope_freqs=True, output=True),
    # Nothing that the file may leave out: as many key heads as heads, of E / H.
    "llama_plain": dict(architecture="llama", seed=6, E=40, L=2, H=4, G=4, D=10, F=56),
    "qwen2": dict(architecture="qwen2", seed=2, E=48, L=2, H=6, G=2, D=8, F=64,
                  biases=("attn_q", "attn_k", "attn_v"), base=1e6),
    "qwen3": dict(architecture="qwen3", seed=3, E=40, L=2, H=4, G=2, D=16, F=56,
                  qk_norm=True, base=1e6),
    # YaRN: of 16 pairs the first 5 turn as they are, the last 4 a quarter as far.
    "qwen3_yarn": dict(architecture="qwen3", seed=7, E=40, L=2, H=2, G=1, D=32, F=56,
                       qk_norm=True, base=10000.0, yarn=4.0, first_context=4096),
    # The sixth layer is global, its positions scaled; the others see 6 tokens.
    "gemma3": dict(architecture="gemma3", seed=4, E=24, L=7, H=2, G=1, D=16, F=40,
                   qk_norm=True, post_norm=True, base=1e6, factor=8.0, window=6),
    # Which layers are local is listed.
    "gemma3_listed": dict(architecture="gemma3", seed=8, E=24, L=4, H=2, G=1, D=16, F=40,
                          qk_norm=True, post_norm=True, base=1e6, window=6,
                          local=(True, False, False, True)),
}


def make_weights(m):
    """Weights by their GGUF names.  Matrices are (out, in) in half precision."""
    random = np.random.default_rng(m["seed"])
    weights = {}

    def matrix(name, n_in, n_out, gain=1.0):
        w = random.standard_normal((n_out, n_in)) * (gain / np.sqrt(n_in))
        weights[name + ".weight"] = w.astype(np.float16)

    def linear(name, n_in, n_out):
        matrix(name, n_in, n_out)
        if name.split(".")[-1] in m.get("biases", ()):
            weights[name + ".bias"] = (0.3 * random.standard_normal(n_out)).astype(F32)

    def norm(name, n):
        weights[name + ".weight"] = (1 + 0.2 * random.standard_normal(n)).astype(F32)

    queries, keys = m["H"] * m["D"], m["G"] * m["D"]
    matrix("token_embd", m["E"], VOCABULARY, gain=np.sqrt(m["E"]) * 0.5)
    for layer in range(m["L"]):
        p = f"blk.{layer}."
        norm(p + "attn_norm", m["E"])
        linear(p + "attn_q", m["E"], queries)
        linear(p + "attn_k", m["E"], keys)
        linear(p + "attn_v", m["E"], keys)
        if m.get("qk_norm"):
            norm(p + "attn_q_norm", m["D"])
            norm(p + "attn_k_norm", m["D"])
        linear(p + "attn_output", queries, m["E"])
        norm(p + "ffn_norm", m["E"])
        linear(p + "ffn_gate", m["E"], m["F"])
        linear(p + "ffn_up", m["E"], m["F"])
        linear(p + "ffn_down", m["F"], m["E"])
        if m.get("post_norm"):
            norm(p + "post_attention_norm", m["E"])
            norm(p + "post_ffw_norm", m["E"])
    norm("output_norm", m["E"])
    if m.get("output"):
        matrix("output", m["E"], VOCABULARY)
    if m.get("rope_freqs"):
        n = m.get("rot", m["D"]) // 2
        weights["rope_freqs.weight"] = np.geomspace(1, 8, n).astype(F32)
    return weights


def write_model(m, path, matrices=np.float16):
    """matrices: what they are kept as; their numbers fit into half precision."""
    a = m["architecture"]
    w = GGUFWriter(path, a)
    w.add_uint32(f"{a}.context_length", int(m.get("first_context", CONTEXT) * m.get("yarn", 1)))
    w.add_uint32(f"{a}.vocab_size", VOCABULARY)
    w.add_uint32(f"{a}.embedding_length", m["E"])
    w.add_uint32(f"{a}.block_count", m["L"])
    w.add_uint32(f"{a}.feed_forward_length", m["F"])
    w.add_uint32(f"{a}.attention.head_count", m["H"])
    if m["G"] != m["H"]:
        w.add_uint32(f"{a}.attention.head_count_kv", m["G"])
    if m["D"] != m["E"] // m["H"]:
        w.add_uint32(f"{a}.attention.key_length", m["D"])
        w.add_uint32(f"{a}.attention.value_length", m["D"])
    w.add_float32(f"{a}.attention.layer_norm_rms_epsilon", EPS)
    if "base" in m:
        w.add_float32(f"{a}.rope.freq_base", m["base"])
    if "rot" in m:
        w.add_uint32(f"{a}.rope.dimension_count", m["rot"])
    if "factor" in m:
        w.add_string(f"{a}.rope.scaling.type", "linear")
        w.add_float32(f"{a}.rope.scaling.factor", m["factor"])
    if "yarn" in m:
        w.add_string(f"{a}.rope.scaling.type", "yarn")
        w.add_float32(f"{a}.rope.scaling.factor", m["yarn"])
        w.add_uint32(f"{a}.rope.scaling.original_context_length", m["first_context"])
    if "window" in m:
        w.add_uint32(f"{a}.attention.sliding_window", m["window"])
    if "local" in m:
        w.add_array(f"{a}.attention.sliding_window_pattern", m["local"])
    for name, weight in make_weights(m).items():
        w.add_tensor(name, weight.astype(matrices) if weight.ndim == 2 else weight)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


# ------------------------------------------------------------ the answers

def yarn_scales(base, n_rot, factor, first_context):
    """Of the angles of each pair: 1 for those that turn more than 32 times
    within the first context, 1 / factor for those that turn less than once."""
    def pair_that_turns(times):
        return n_rot * np.log(first_context / (2 * np.pi * times)) / (2 * np.log(base))
    low = max(np.floor(pair_that_turns(32)), 0)
    high = min(np.ceil(pair_that_turns(1)), n_rot - 1)
    share = np.clip((np.arange(n_rot // 2) - low) / max(high - low, 0.001), 0, 1)
    return share / factor + 1 - share


def rope(x, positions, base, n_rot, neox, scales, growth=1.0):
    """Rotate pairs of x (tokens, heads, head_dim): pair i turns by
    position * scales[i] * base^(-2i/n_rot), and grows.  A pair is (2i, 2i+1),
    or (i, i + n_rot/2) with neox."""
    i = np.arange(n_rot // 2, dtype=np.float64)
    angle = np.outer(positions, base ** (-2.0 * i / n_rot) * scales)
    cos = (np.cos(angle) * growth).astype(F32)[:, None, :]
    sin = (np.sin(angle) * growth).astype(F32)[:, None, :]
    if neox:
        first, second = slice(0, n_rot // 2), slice(n_rot // 2, n_rot)
    else:
        first, second = slice(0, n_rot, 2), slice(1, n_rot, 2)
    out = x.copy()
    out[..., first] = x[..., first] * cos - x[..., second] * sin
    out[..., second] = x[..., first] * sin + x[..., second] * cos
    return out


class Model:
    """logits() runs all tokens at once, without a KV cache."""

    def __init__(self, m, path):
        self.m = m
        self.gemma = m["architecture"] == "gemma3"
        self.weights = {t.name: np.array(t.data, dtype=F32) for t in GGUFReader(path).tensors}

    def linear(self, x, name):
        y = x @ self.weights[name + ".weight"].T
        return y + self.weights[name + ".bias"] if name + ".bias" in self.weights else y

    def norm(self, x, name):
        """x as it is when the model has no such norm."""
        w = self.weights.get(name + ".weight")
        return x if w is None else rms_norm(x, w, F32(EPS))

    def turned(self, x, is_local):
        m = self.m
        n_rot, base, growth = m.get("rot", m["D"]), m.get("base", 10000.0), 1.0
        factors = self.weights.get("rope_freqs.weight", np.ones(n_rot // 2)).astype(np.float64)
        scales = 1 / factors / m.get("factor", 1.0)
        if is_local:
            base, scales = 10000.0, np.ones(n_rot // 2)
        if "yarn" in m:
            scales = yarn_scales(base, n_rot, m["yarn"], m["first_context"])
            growth = 0.1 * np.log(m["yarn"]) + 1
        return rope(x, np.arange(len(x)), base, n_rot, m["architecture"] != "llama", scales, growth)

    def attention(self, x, layer):
        m, p, n = self.m, f"blk.{layer}.", len(x)
        is_local = "window" in m and (m["local"][layer] if "local" in m else (layer + 1) % 6 != 0)
        q = self.linear(x, p + "attn_q").reshape(n, m["H"], m["D"])
        k = self.linear(x, p + "attn_k").reshape(n, m["G"], m["D"])
        v = self.linear(x, p + "attn_v").reshape(n, m["G"], m["D"])
        q = self.turned(self.norm(q, p + "attn_q_norm"), is_local)
        k = self.turned(self.norm(k, p + "attn_k_norm"), is_local)
        distance = np.arange(n)[:, None] - np.arange(n)[None, :]
        hidden = (distance < 0) | (is_local and distance >= m["window"])
        out = np.empty((n, m["H"], m["D"]), F32)
        for h in range(m["H"]):
            g = h // (m["H"] // m["G"])
            scores = (q[:, h] @ k[:, g].T) * F32(1 / np.sqrt(m["D"]))
            scores[hidden] = -np.inf
            out[:, h] = softmax(scores) @ v[:, g]
        return self.linear(out.reshape(n, -1), p + "attn_output")

    def feed_forward(self, x, layer):
        p = f"blk.{layer}."
        activation = gelu_tanh if self.gemma else silu
        gate = activation(self.linear(x, p + "ffn_gate"))
        return self.linear(gate * self.linear(x, p + "ffn_up"), p + "ffn_down")

    def logits(self, tokens):
        x = self.weights["token_embd.weight"][np.asarray(tokens)]
        if self.gemma:
            x = x * F32(np.sqrt(self.m["E"]))
        for layer in range(self.m["L"]):
            p = f"blk.{layer}."
            y = self.attention(self.norm(x, p + "attn_norm"), layer)
            x = x + self.norm(y, p + "post_attention_norm")
            y = self.feed_forward(self.norm(x, p + "ffn_norm"), layer)
            x = x + self.norm(y, p + "post_ffw_norm")
        output = "output" if "output.weight" in self.weights else "token_embd"
        return self.linear(self.norm(x, "output_norm"), output)


def last_of(logits):
    ids, values = best(logits, 10)
    return {"top_ids": ids, "top_logits": values, "mean": round(float(logits.mean()), 5),
            "std": round(float(logits.std()), 5), "min": round(float(logits.min()), 5),
            "max": round(float(logits.max()), 5)}


def greedy(model, tokens, n):
    ids, second_ids, gaps = [], [], []
    for _ in range(n):
        logits = model.logits(tokens + ids)[-1]
        (first, second), _ = best(logits, 2)
        gaps.append(round(float(logits[first] - logits[second]), 5))
        ids.append(first)
        second_ids.append(second)
    return {"ids": ids, "gaps": gaps, "second_ids": second_ids}


def answers(m, path):
    model = Model(m, path)
    random = np.random.default_rng(100 + m["seed"])
    prompts = []
    for name, count in (("one", 1), ("seven", 7), ("forty", 40)):
        ids = [int(i) for i in random.integers(0, VOCABULARY, count)]
        prompts.append({"name": name, "ids": ids, "last": last_of(model.logits(ids)[-1]),
                        "greedy": greedy(model, ids, 24)})
    ids = [int(i) for i in random.integers(0, VOCABULARY, 96)]
    logits = model.logits(ids)
    nll = token_nll(logits, ids)
    passage = {"name": "random", "ids": ids, "per_token": [round(float(v), 5) for v in nll],
               "short": {"count": 48, "mean": round(float(nll[:48].mean()), 6)},
               "long": {"count": len(nll), "mean": round(float(nll.mean()), 6)},
               "last": last_of(logits[-1])}
    with open(path, "rb") as f:
        sha256 = hashlib.sha256(f.read()).hexdigest()
    return {"schema_version": 1,
            "model": {"file": os.path.basename(path), "sha256": sha256,
                      "architecture": m["architecture"]},
            "prompts": prompts, "nll": [passage]}


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    for name, m in MODELS.items():
        path = os.path.join(folder, name + ".gguf")
        write_model(m, path)
        with open(os.path.join(folder, name + ".json"), "w", encoding="utf-8") as f:
            json.dump(answers(m, path), f, indent=1)
            f.write("\n")


if __name__ == "__main__":
    main()
