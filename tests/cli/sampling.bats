#!/usr/bin/env bats
# tenon run: how a token is picked. What the numbers must be is tested in unit/lm/sampler.
bats_require_minimum_version 1.5.0
load common

@test "--logit-bias makes a token certain, or forbids it" {
    run --separate-stderr tenon run austen "She was" -n 3 --greedy --json
    likely=$(json 'o["tokens"][0]')
    run --separate-stderr tenon run austen "She was" -n 3 --greedy --json --logit-bias 40=1000
    [ "$status" -eq 0 ]
    [ "$(json 'o["tokens"]')" = "[40, 40, 40]" ]
    run --separate-stderr tenon run austen "She was" -n 1 --greedy --json --logit-bias "$likely=-inf"
    [ "$(json "o['tokens'] != [$likely]")" = True ]
    run --separate-stderr tenon run austen "She was" -n 200 --temp 5 --top-k 0 --top-p 1 --min-p 0 --seed 1 --ignore-eos --json \
        --logit-bias 40=-inf --logit-bias 41=-inf --logit-bias=42=-1e6
    [ "$status" -eq 0 ]
    [ "$(json '{40, 41, 42} & set(o["tokens"])')" = "set()" ]
}

@test "a wrong --logit-bias: one line that says what is expected" {
    for wrong in 5 5= =5 5=x 5=inf 5=nan 5=1e7 5=0,5 x=1 -5=1 99999999999=1; do
        fails_with 2 "--logit-bias '$wrong': ID=VALUE is expected, a token id and a number from -1000000 to 1000000 or -inf" \
            tenon run austen a --logit-bias "$wrong"
    done
    fails_with 2 "a bias for id 2048, but the ids are 0 to 2047" tenon run austen a --greedy --logit-bias 2048=1
    fails_with 2 "id 5 has two biases" tenon run austen a --greedy --logit-bias 5=1 --logit-bias 5=2
}

@test "sampling options outside their range: the option and the range" {
    fails_with 2 "--temp '-1': a number from 0 to 1000" tenon run austen a --temp -1
    fails_with 2 "--temp 'inf': a number from 0 to 1000" tenon run austen a --temp inf
    fails_with 2 "--top-k '-1': a whole number from 0 to" tenon run austen a --top-k -1
    fails_with 2 "--top-k '1.5': a whole number" tenon run austen a --top-k 1.5
    fails_with 2 "--top-p '0': a number from 1e-06 to 1" tenon run austen a --top-p 0
    fails_with 2 "--top-p '1.1': a number from 1e-06 to 1" tenon run austen a --top-p 1.1
    fails_with 2 "--min-p '2': a number from 0 to 1" tenon run austen a --min-p 2
    fails_with 2 "--repeat-penalty '0': a number from 0.001 to 1000" tenon run austen a --repeat-penalty 0
    fails_with 2 "--frequency-penalty '1001': a number from -1000 to 1000" tenon run austen a --frequency-penalty 1001
    fails_with 2 "--presence-penalty 'x': a number from -1000 to 1000" tenon run austen a --presence-penalty x
    fails_with 2 "--seed '-1': a whole number from 0 to 9000000000000000" tenon run austen a --seed -1
    fails_with 2 "--seed '99999999999999999999': a whole number" tenon run austen a --seed 99999999999999999999
    fails_with 2 "--seed '9000000000000001': a whole number" tenon run austen a --seed 9000000000000001
}

@test "the largest and the smallest values work" {
    run --separate-stderr tenon run austen "She was" -n 4 --seed 9000000000000000 --temp 1000 --top-k 1073741824 --top-p 1 --min-p 0 --ignore-eos --json
    [ "$status" -eq 0 ]
    [ "$(json 'len(o["tokens"])')" = 4 ]
    run --separate-stderr tenon run austen "She was" -n 4 --seed 0 --temp 1e-30 --top-k 1 --top-p 1e-6 --min-p 1 --json
    small=$(json 'o["tokens"]')
    run --separate-stderr tenon run austen "She was" -n 4 --temp 0 --json
    [ "$(json 'o["tokens"]')" = "$small" ]
    [ -z "$stderr" ]   # greedy tells no seed
}

@test "penalties change the text, the same way every time" {
    tenon run austen "She was" -n 40 --greedy >plain
    tenon run austen "She was" -n 40 --greedy --repeat-penalty 1.5 >once
    tenon run austen "She was" -n 40 --greedy --repeat-penalty 1.5 >twice
    cmp once twice
    ! cmp -s plain once
}
