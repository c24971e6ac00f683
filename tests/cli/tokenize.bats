#!/usr/bin/env bats
# tenon tokenize
bats_require_minimum_version 1.5.0
load common

@test "ids as text and as JSON" {
    run --separate-stderr tenon tokenize austen "It is a truth universally acknowledged, that"
    [ "$status" -eq 0 ]
    [ "$output" = "0 1029 364 259 1901 470 73 1174 552 1775 730 786 12 334" ]
    run --separate-stderr tenon tokenize austen "It is a truth universally acknowledged, that" --json
    [ "$output" = '{"schema_version":1,"tokens":[0,1029,364,259,1901,470,73,1174,552,1775,730,786,12,334]}' ]
}

@test "every case of the golden file, by argument or byte for byte from stdin" {
    run python3 - "$TENON" "$TENON_GOLDEN/austen-4m-q8_0.json" <<'PY'
import json, subprocess, sys
tenon, path = sys.argv[1:]
wrong = 0
cases = json.load(open(path))["tokenizer_cases"]
for case in cases:
    command = [tenon, "tokenize", "austen", "--json"] + ([] if case["parse_special"] else ["--no-special"])
    got = json.loads(subprocess.run(command, input=case["text"].encode(), capture_output=True, check=True).stdout)["tokens"]
    if got != case["ids"]:
        wrong += 1
        print(repr(case["text"]), got, case["ids"])
print(len(cases), "cases")
sys.exit(wrong != 0)
PY
    echo "$output"
    [ "$status" -eq 0 ]
}

@test "standard input may hold anything: NULs, broken UTF-8, nothing" {
    run --separate-stderr bash -c 'printf "a\0b\377\303" | "$TENON" tokenize austen --json'
    [ "$status" -eq 0 ]
    [ "$(json 'len(o["tokens"]) > 4')" = True ]
    run --separate-stderr bash -c '"$TENON" tokenize austen --json </dev/null'
    [ "$(json 'o["tokens"]')" = "[0]" ]
}

@test "--no-special takes special text as text" {
    run --separate-stderr tenon tokenize austen "<|endoftext|>" --json
    [ "$(json 'o["tokens"]')" = "[0, 0]" ]
    run --separate-stderr tenon tokenize austen "<|endoftext|>" --no-special --json
    [ "$(json 'o["tokens"].count(0), len(o["tokens"]) > 2')" = "(1, True)" ]
}

@test "--pre takes another pre-tokenizer, an unknown one is refused" {
    run --separate-stderr tenon tokenize austen "a1 b" --pre smollm --json
    [ "$status" -eq 0 ]
    run --separate-stderr tenon tokenize austen a --pre nonsense
    [ "$status" -eq 2 ]
    [[ $stderr == *nonsense* ]]
}

@test "wrong usage" {
    fails_with 2 "MODEL" tenon tokenize
    fails_with 2 "did you mean '--no-special'" tenon tokenize austen a --nospecial
    fails_with 6 "No such file" tenon tokenize missing.gguf a
}
