#!/usr/bin/env python3
"""Small vocabularies for the ways in which byte-level BPE cuts text into words,
and the ids that Hugging Face `tokenizers` gives with them; and one of the kind
`llama`, with the ids that Google's SentencePiece gives.

    make.py [FOLDER] [CASES]

writes FOLDER/NAME.gguf (a vocabulary without a model) and NAME.json for each of
KINDS and for `spm` (default: beside this file), with CASES random texts each
(default 300).  The format is that of ../golden/README.md; `back` is what the
ids stand for where that is not the text.  Needs Python with tokenizers,
sentencepiece and gguf.
"""
import io
import json
import os
import random
import re
import sys

import sentencepiece
from gguf import GGUFWriter, TokenType
from tokenizers import AddedToken, Regex, Tokenizer, models, pre_tokenizers, trainers

# The patterns as the models' own tokenizer.json have them; `default` is what
# llama.cpp assumes of a file that names no pre-tokenizer.
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
CL100K = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|%s| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
# whole_words are tokens that no merge makes.  merges are added to the learned
# ones, and hold within words only where the patterns fail to cut them apart.
KINDS = {
    "llama-bpe": dict(pre="llama-bpe", patterns=[CL100K % r"\p{N}{1,3}"], bos="<|begin_of_text|>",
                      eos="<|eot_id|>",
                      whole_words=["qzx", " qzx", "zzz", "987", "\u6f22\u5b57", "'LL"]),
    "qwen2": dict(pre="qwen2", patterns=[CL100K % r"\p{N}"], bos=None, eos="<|im_end|>",
                  merges=[("1", "2")]),
    "default": dict(pre=None, bos=None, eos="<|endoftext|>",
                    patterns=[r"[\p{P}\$\+<=>\^~\|]+", GPT2, r"\p{N}+", "[0-9][0-9][0-9]"],
                    merges=[("\u0120", "1")]),
}

CORPUS = """The carpenter measured the board twice, and then she cut it once. It's what we've
always said: you'll waste less if you're careful. They'd agreed, I'm told; he'd not.
IT'S SAID AGAIN: IT'S SAND. Sand on the board, Sand in the saw; IT'S Sand, and Sand again.
In 2024 there were 1299 orders, 48 of them late; 007 and 3.14159 are numbers too.
    def measure(self, board, *args):
        return [x * 2 for x in board if x != 0]  # twice

The number 12345678 has eight digits. A total of $1,000,000.00 fell due at 09:30 UTC.
Der Tischler hat das Brett zweimal gemessen; die Säge lag daneben. L'été, la forêt brûlait.
Столяр дважды измерил доску, а потом отрезал. Ελληνικά: το ξύλο κόπηκε μία φορά.
大工は板を二度測り、一度切った。漢字かな交じり文。 목수는 판자를 두 번 쟀다.
نجار قاس اللوح مرتين ثم قطعه مرة واحدة. הנגר מדד פעמיים.
"""

# Pieces of which random texts are made: what the patterns tell apart.
PIECES = [
    "the", " board", "Measure", "TWICE", "x", "qzx", " qzx", "zzz", "\u00e9", "e\u0301", "\u017f",
    "\u212a", "\u6f22\u5b57", " \u677f", "\u0414\u043e\u0441\u043a\u0430",
    "\u03be\u03cd\u03bb\u03bf", "\ub450 \ubc88", "\u0646\u062c\u0627\u0631", "'s", "'S", "'ll",
    "'LL", "'Ll", "'re", "'VE", "'d", "'m", "'Sand", "'sand", "'\u017f", "'x", "''s", "\u2019s",
    "0", "7", "12", "123", "1234", "1234567", "987", "\u00bd", "\u2167",
    "\u0663\u0664\u0665\u0666", "\u00b2", ".", "...", "!?", "$", "+", "<=>", "^", "~", "|", "`",
    "_", "(", ")]", "\u00a7", "\u2014", "\u20ac", "\u00ad", "\u200b", "\u200d", "\U0001f600",
    "\U0001f44d\U0001f3fd", "\u0301", "\ufe0f", " ", "  ", "   ", "\t", "\n", "\n\n", "\r\n",
    "\r", " \n", "\n ", "\t\n", "\u00a0", "\u2003", "\u3000", "\u2028", "\u0085", "\u180e",
    "\u000b", "\u000c", "\ufeff", "\U0001d518", "\ue000", "\U000e0041",
]

FIXED = [
    "", " ", "  ", "\n", " \n", "a", " a", "  a", "a  ", "a \n b", "a  \n\n  b\n",
    "I'm YOU'RE we'Ve 'Sand it\u2019s o'clock 'tis", "1 12 123 1234 12345 123456 1234567",
    "3.14159,-2.5e10 1,000,000.00 0x1F 50%", "x=1;\ny=2;\r\n\r\nz==3!=4\n",
    "for (int i = 0; i < n; i++) {\n\tif (x[i] != 0)\n\t\treturn;\n}\n",
    "\u6f22\u5b57\u304b\u306a 123\u5b57 \u4f60\u597d\uff0c\u4e16\u754c\uff01",
    "qzx qzx qzxq 'LL 987 9876 zzz\n zzz\n\n", "a" * 100, " " * 100 + "b", "\n" * 50,
    "=" * 64 + "\n", "0" * 50, "naive caf\u00e9 e\u0301t\u00e9 Z\u0351\u0346algo",
    "\U0001f469\u200d\U0001f4bb \U0001f3f3\ufe0f\u200d\U0001f308",
    "a\u00a0b\u2003c\u3000d\u200be\u2028f \u00a0 g",
    "<|begin_of_text|>user<|eot_id|>\n\n<|im_end|> <|endoftext|>x<|im_end",
    "$5 + 3 = 8 ~ <b> ^_^ a|b `c`", "IT'Sand it'Sand 'Sand don'Ts",
    "twice.\n\nthe board,\r\n\tx.\n",
]


def byte_level():
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)


def pre_tokenizer(kind):
    cuts = [pre_tokenizers.Split(Regex(p), "isolated") for p in kind["patterns"]]
    return pre_tokenizers.Sequence(cuts + [byte_level()])


def letters(text):
    """A text in the letters in which byte-level vocabularies spell bytes."""
    (piece, _), = byte_level().pre_tokenize_str(text)
    return piece


def train(kind):
    """(tokenizer, token texts by id, merges): those of CORPUS, then what the kind adds."""
    trained = Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizer(kind)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trained.train_from_iterator([CORPUS], trainers.BpeTrainer(
        vocab_size=640, show_progress=False, initial_alphabet=sorted(alphabet)))
    state = json.loads(trained.to_str())["model"]
    vocabulary, merges = state["vocab"], [tuple(m) for m in state["merges"]]
    for left, right in kind.get("merges", []):
        vocabulary[left + right] = len(vocabulary)
        merges.append((left, right))
    words = kind.get("whole_words", [])
    for word in map(letters, words):
        assert word not in vocabulary, word
        vocabulary[word] = len(vocabulary)
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges, ignore_merges=bool(words)))
    tokenizer.pre_tokenizer = pre_tokenizer(kind)
    texts = [text for text, _ in sorted(vocabulary.items(), key=lambda item: item[1])]
    specials = [kind["eos"]] if kind["bos"] is None else [kind["bos"], kind["eos"]]
    tokenizer.add_special_tokens([AddedToken(s, special=True, normalized=False) for s in specials])
    return tokenizer, texts + specials, merges


def write_vocabulary(kind, texts, merges, tokenizer, path):
    w = GGUFWriter(path, "llama")
    w.add_tokenizer_model("gpt2")
    if kind["pre"]:
        w.add_tokenizer_pre(kind["pre"])
    w.add_token_list(texts)
    specials = {kind["bos"], kind["eos"]}
    types = [TokenType.CONTROL if t in specials else TokenType.NORMAL for t in texts]
    w.add_token_types([int(t) for t in types])
    w.add_token_merges([" ".join(m) for m in merges])
    if kind["bos"]:
        w.add_bos_token_id(tokenizer.token_to_id(kind["bos"]))
    w.add_eos_token_id(tokenizer.token_to_id(kind["eos"]))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def encode(kind, tokenizer, text, parse_special):
    tokenizer.encode_special_tokens = not parse_special
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    return ([tokenizer.token_to_id(kind["bos"])] if kind["bos"] else []) + ids


# ------------------------------------------------------- the kind `llama`

CONTROL, USER = "<|turn|>", "<tag>"
SPM_PIECES = PIECES + [" ", " ", "    ", "\u2581", "<", "<|turn", "</s>", "<0x0A>", CONTROL, USER]
SPM_FIXED = FIXED + [
    "<|turn|> board", "<|turn|>  board", "<|turn|>board<|turn|>", "a<tag>board <tag> b", "<tag>",
    " <tag>", "<s></s><unk>", "<0x0A><0x00>", "\u2581board \u2581 x", "board\t board   board",
]


def train_spm():
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(CORPUS.splitlines()), model_writer=model, model_type="bpe",
        vocab_size=640, byte_fallback=True, normalization_rule_name="identity",
        remove_extra_whitespaces=False, allow_whitespace_only_pieces=True,
        control_symbols=[CONTROL], user_defined_symbols=[USER], minloglevel=2)
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


def write_spm(spm, path):
    ids = range(spm.get_piece_size())
    w = GGUFWriter(path, "llama")
    w.add_tokenizer_model("llama")
    w.add_token_list([spm.id_to_piece(i) for i in ids])
    w.add_token_scores([spm.get_score(i) for i in ids])
    w.add_token_types([int(TokenType.UNKNOWN if spm.is_unknown(i) else
                           TokenType.CONTROL if spm.is_control(i) else
                           TokenType.BYTE if spm.is_byte(i) else
                           TokenType.USER_DEFINED if spm.id_to_piece(i) == USER else
                           TokenType.NORMAL) for i in ids])
    w.add_bos_token_id(spm.bos_id())
    w.add_eos_token_id(spm.eos_id())
    w.add_unk_token_id(spm.unk_id())
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def spm_entry(spm, text, parse_special=True):
    """What is between special tokens is a text of its own for SentencePiece,
    so each gets its space in front, as other programs for GGUF files do it."""
    specials = [USER] + ([CONTROL, "<s>", "</s>", "<unk>"] if parse_special else [])
    ids, back = [spm.bos_id()], ""
    for part in re.split("(" + "|".join(map(re.escape, specials)) + ")", text):
        if part in specials:
            ids.append(spm.piece_to_id(part))
            back += part
        elif part:
            ids += spm.encode(part)
            back += " " + part.replace("\u2581", " ")
    return {"text": text, "parse_special": parse_special, "ids": ids, "back": back}


def write_answers(name, model, prompts, cases, passages, folder):
    answers = {"schema_version": 1, "model": model, "prompts": prompts, "tokenizer_cases": cases,
               "nll": passages}
    with open(os.path.join(folder, name + ".json"), "w", encoding="utf-8") as f:
        text = json.dumps(answers, separators=(",", ":"))
        f.write(text.replace('{"text"', '\n{"text"') + "\n")


def random_texts(name, pieces, count):
    rng = random.Random(name)
    return ["".join(rng.choices(pieces, k=rng.randint(2, 12))) for _ in range(count)]


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    case_count = int(sys.argv[2]) if len(sys.argv) > 2 else 300
    for name, kind in KINDS.items():
        tokenizer, texts, merges = train(kind)
        write_vocabulary(kind, texts, merges, tokenizer, os.path.join(folder, name + ".gguf"))

        def entry(text, parse_special=True):
            return {"text": text, "parse_special": parse_special,
                    "ids": encode(kind, tokenizer, text, parse_special)}

        texts = FIXED + random_texts(name, PIECES, case_count)
        bos = tokenizer.token_to_id(kind["bos"]) if kind["bos"] else None
        write_answers(name, {"file": name + ".gguf", "tokenizer": "gpt2", "pre": kind["pre"],
                             "bos": bos, "stop_ids": [tokenizer.token_to_id(kind["eos"])]},
                      [entry(line) for line in CORPUS.splitlines() if line],
                      [entry(t) for t in texts] + [entry(t, False) for t in FIXED if "<|" in t],
                      [entry(CORPUS)], folder)

    spm = train_spm()
    write_spm(spm, os.path.join(folder, "spm.gguf"))
    texts = SPM_FIXED + random_texts("spm", SPM_PIECES, case_count)
    write_answers("spm", {"file": "spm.gguf", "tokenizer": "llama", "pre": None,
                          "bos": spm.bos_id(), "stop_ids": [spm.eos_id()]},
                  [spm_entry(spm, line) for line in CORPUS.splitlines() if line],
                  [spm_entry(spm, t, is_parsed) for is_parsed in (True, False) for t in texts],
                  [spm_entry(spm, CORPUS)], folder)


if __name__ == "__main__":
    main()
