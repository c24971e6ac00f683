#!/usr/bin/env python3
"""Writes corpus/architecture/: a model of two dims and one layer of every architecture, and one with something
wrong in each of keys and tensors."""
import struct

from make_vocabulary_corpus import F32, FOLDER, STRING, U32, array, key, string

E, TOKENS = 2, ["a", "b", "c"]


def numbers(name, others):
    made = {"context_length": (U32, 8), "embedding_length": (U32, E), "block_count": (U32, 1),
            "feed_forward_length": (U32, 4), "attention.head_count": (U32, 1),
            "attention.layer_norm_rms_epsilon": (F32, 1e-5)} | others
    return [key(f"{name}.{number}", kind, value) for number, (kind, value) in made.items()]


def tensors(more):
    made = {"token_embd.weight": (E, len(TOKENS)), "output_norm.weight": (E,)}
    layer = {"attn_norm.weight": (E,), "attn_q.weight": (E, E), "attn_k.weight": (E, E), "attn_v.weight": (E, E),
             "attn_output.weight": (E, E), "ffn_norm.weight": (E,), "ffn_gate.weight": (E, 4),
             "ffn_up.weight": (E, 4), "ffn_down.weight": (4, E)} | more
    return made | {f"blk.0.{name}": dims for name, dims in layer.items()}


def model(name, more, others=None):
    keys = [key("general.architecture", STRING, name), *numbers(name, others or {}),
            array("tokenizer.ggml.tokens", STRING, TOKENS)]
    table, bytes_ = b"", 0
    made = tensors(more)
    for tensor, dims in made.items():
        table += string(tensor) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, 0, bytes_)
        count = dims[0] * (dims[1] if len(dims) > 1 else 1)
        bytes_ += -(-4 * count // 32) * 32
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(made), len(keys)) + b"".join(keys) + table
    return head + b"\0" * (-len(head) % 32 + bytes_)


NORMS = {"attn_q_norm.weight": (E,), "attn_k_norm.weight": (E,)}
BIASES = {"attn_q.bias": (E,), "attn_k.bias": (E,), "attn_v.bias": (E,)}
MODELS = {
    "llama": model("llama", {}),
    "llama_biases": model("llama", BIASES),
    "gemma3": model("gemma3", NORMS | {"post_attention_norm.weight": (E,), "post_ffw_norm.weight": (E,)},
                    {"attention.sliding_window": (U32, 4)}),
    "qwen2": model("qwen2", BIASES),
    "qwen3": model("qwen3", NORMS),
    "no_heads": model("llama", {}, {"attention.head_count": (U32, 0)}),
    "many_layers": model("llama", {}, {"block_count": (U32, 1000)}),
    "left_over": model("llama", NORMS),
    "turned": model("llama", {"ffn_down.weight": (E, 4)}),
    "yarn": model("llama", {}, {"rope.scaling.type": (STRING, "yarn")}),
}

(FOLDER / "architecture").mkdir(parents=True, exist_ok=True)
for file_name, data in MODELS.items():
    (FOLDER / "architecture" / file_name).write_bytes(data)
