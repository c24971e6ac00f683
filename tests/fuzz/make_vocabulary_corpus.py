#!/usr/bin/env python3
"""Writes corpus/vocabulary/: small vocabularies of both kinds, and others with one thing wrong each; and
corpus/text/. The target text.c also takes its vocabularies of the kind `llama` from here."""
import pathlib
import struct

FOLDER = pathlib.Path(__file__).parent / "corpus"
NORMAL, UNKNOWN, CONTROL, USER, UNUSED, BYTE = range(1, 7)
U32, I32, F32, BOOL, STRING, ARRAY, F64 = 4, 5, 6, 7, 8, 9, 12
FORMATS = {U32: "<I", I32: "<i", F32: "<f", BOOL: "<?", F64: "<d"}


def string(text):
    data = text if isinstance(text, bytes) else text.encode()
    return struct.pack("<Q", len(data)) + data


def value(kind, one):
    return string(one) if kind == STRING else struct.pack(FORMATS[kind], one)


def key(name, kind, one):
    return string(name) + struct.pack("<I", kind) + value(kind, one)


def array(name, kind, several):
    head = string(name) + struct.pack("<IIQ", ARRAY, kind, len(several))
    return head + b"".join(value(kind, one) for one in several)


def gguf(keys):
    data = struct.pack("<4sIQQ", b"GGUF", 3, 0, len(keys)) + b"".join(keys.values())
    return data + b"\0" * (-len(data) % 32)


def keys(model, tokens, **others):
    made = {"model": key("tokenizer.ggml.model", STRING, model),
            "tokens": array("tokenizer.ggml.tokens", STRING, [text for text, _, _ in tokens]),
            "token_type": array("tokenizer.ggml.token_type", I32, [kind for _, kind, _ in tokens]),
            "eos": key("tokenizer.ggml.eos_token_id", U32, 2)}
    return made | others


def spm():
    tokens = [("<unk>", UNKNOWN, 0), ("<s>", CONTROL, 0), ("</s>", CONTROL, 0)]
    tokens += [(f"<0x{byte:02X}>", BYTE, 0) for byte in range(256)]
    words = ["\u2581", "\u2581\u2581", "e", "t", "a", "o", "\u2581t", "he", "\u2581the", "an", "in", "er",
             "\u2581a", "\u00e9", "\u6f22", "\u5b57", "\U0001f469", "\u200d", "ab", "abc", "bc", "b", "c"]
    tokens += [(word, NORMAL, -float(i)) for i, word in enumerate(words)]
    tokens += [("<tag>", USER, -1000.0), ("<turn>", CONTROL, 0)]
    return keys("llama", tokens, scores=array("tokenizer.ggml.scores", F32, [score for _, _, score in tokens]),
                unknown=key("tokenizer.ggml.unknown_token_id", U32, 0),
                bos=key("tokenizer.ggml.bos_token_id", U32, 1))


def letters():
    """The printable letter that stands for each byte in byte-level BPE."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(byte if byte in plain else next(others)) for byte in range(256)]


def bpe(merges=("a b", "ab c", "\u0120 \u0120"), pre="gpt-2"):
    tokens = [(letter, NORMAL, 0) for letter in letters()]
    tokens += [(merge.replace(" ", ""), NORMAL, 0) for merge in merges]
    tokens += [("<|end|>", CONTROL, 0), ("<tag>", USER, 0)]
    return keys("gpt2", tokens, merges=array("tokenizer.ggml.merges", STRING, merges),
                pre=key("tokenizer.ggml.pre", STRING, pre))


def types(kind, several):
    return array("tokenizer.ggml.token_type", kind, several)


ABC = [("a", NORMAL, 0), ("b", NORMAL, 0), ("a", NORMAL, 0), ("", NORMAL, 0)]
VOCABULARIES = {
    "spm": spm(),
    "spm_as_is": spm() | {"prefix": key("tokenizer.ggml.add_space_prefix", BOOL, False)},
    "bpe": bpe(),
    "bpe_llama": bpe(pre="llama-bpe"),
    "bpe_unknown_pre": bpe(pre="tomorrow"),
    "few_types": bpe() | {"token_type": types(I32, [1])},
    "float_types": bpe() | {"token_type": types(F32, [1.0] * 261)},
    "absurd_types": bpe() | {"token_type": types(I32, [-1] * 261)},
    "merge_of_no_token": bpe(merges=("a b",)) | {"merges": array("tokenizer.ggml.merges", STRING, ["xyz a"])},
    "merge_of_one": bpe() | {"merges": array("tokenizer.ggml.merges", STRING, ["ab", " ", ""])},
    "scores_f64": spm() | {"scores": array("tokenizer.ggml.scores", F64, [0.5] * 284)},
    "scores_few": spm() | {"scores": array("tokenizer.ggml.scores", F32, [0.5])},
    "scores_nan": spm() | {"scores": array("tokenizer.ggml.scores", F32, [float("nan")] * 284)},
    "bos_outside": spm() | {"bos": key("tokenizer.ggml.bos_token_id", U32, 2**32 - 1)},
    "duplicates": keys("llama", ABC, scores=array("tokenizer.ggml.scores", F32, [0, 1, 2, 3])),
    "bytes_misspelled": keys("llama", [("<0xzz>", BYTE, 0)], scores=array("tokenizer.ggml.scores", F32, [0])),
    "no_keys": {},
}
TEXTS = ["It is a truth universally acknowledged", "a\0b\xff", "   <|end|> the <tag> </s>", "\u6f22\u5b57 caf\u00e9",
         "\U0001f469\u200d\U0001f469\u200d\U0001f466", b"\xe2\x82 \xed\xa0\x80 \xc0\x80 \xf4\x90\x80\x80",
         "x" * 300, " " * 100, "1234567 it's I'LL\r\n\r\n  \t"]


def main():
    for folder in ("vocabulary", "text"):
        (FOLDER / folder).mkdir(parents=True, exist_ok=True)
    for name, made in VOCABULARIES.items():
        (FOLDER / "vocabulary" / name).write_bytes(gguf(made))
    for i, text in enumerate(TEXTS):
        data = text if isinstance(text, bytes) else text.encode()
        for choice in range(3):
            (FOLDER / "text" / f"{i}_{choice}").write_bytes(bytes([(7 * i + 5 * choice) % 40]) + data)


if __name__ == "__main__":
    main()
