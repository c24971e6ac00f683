# Packs in the user's cache.
load common
bats_require_minimum_version 1.5.0

packs=.cache/tenon/packs

@test "the next start has packs of the cache, and says the same" {
    run tenon run austen "She was at Bath." -n 12 --greedy
    [ "$status" -eq 0 ]
    want=$output
    [ ! -e "$packs" ]
    for time in first second; do
        run --separate-stderr tenon run austen "She was at Bath." -n 12 --greedy --set packs.cache=on --explain
        [ "$status" -eq 0 ]
        [ "$output" = "$want" ]
        made=$(sed -n 's/.* \([0-9]*\) packed in the user.s cache, of these \([0-9]*\) made now.*/\1 \2/p' <<<"$stderr")
        [ "${made% *}" -gt 1000000 ]
        [ "$time" = second ] || [ "${made% *}" = "${made#* }" ]
        [ "$time" = first ] || [ "${made#* }" = 0 ]
    done
    [ "$(find "$packs" -type f | wc -l)" -eq 1 ]
    [ "$(find "$packs" -type f -perm 600 | wc -l)" -eq 1 ]
}

@test "packs of the cache are no memory of the process" {
    run tenon plan austen --json
    [ "$(json 'o["devices"][0]["weight_cached_bytes"]')" = 0 ]
    copied=$(json 'o["devices"][0]["weight_copied_bytes"]')
    for time in first second; do
        run tenon plan austen --json --set packs.cache=on
        [ "$(json 'o["devices"][0]["weight_copied_bytes"], o["devices"][0]["weight_cached_bytes"]')" = "(0, $copied)" ]
    done
    run tenon plan austen --set packs.cache=on
    [[ "$output" == *"packs in the cache  "*" $copied "* ]]
    run tenon run austen "It is" -n 4 --greedy --json
    without=$(json 'o["memory"]["rss_anon_bytes"]')
    run tenon run austen "It is" -n 4 --greedy --json --set packs.cache=on
    [ "$(json "o['memory']['rss_anon_bytes'] + $copied / 2 < $without")" = True ]
}

@test "tenon.ini turns it on, and the command off" {
    mkdir -p config/tenon
    printf '[packs]\ncache = on\ncache_mib = 64\n' >config/tenon/tenon.ini
    tenon run austen "It is" -n 2 --set packs.cache=off
    [ ! -e "$packs" ]
    tenon run austen "It is" -n 2
    [ "$(find "$packs" -type f | wc -l)" -eq 1 ]
    printf '[packs]\ncache = perhaps\n' >config/tenon/tenon.ini
    fails_with 6 "tenon.ini:2: [packs] cache = perhaps: on or off is expected" tenon run austen "It is" -n 2
    fails_with 2 "[packs] cache_mib = 0: a whole number from 1" tenon run austen "It is" -n 2 --set packs.cache_mib=0
    fails_with 2 "[packs] has no key 'size' (cache, cache_mib)" tenon run austen "It is" -n 2 --set packs.size=1
}

@test "a damaged file of packs is replaced, with one line" {
    run tenon run austen "It is" -n 4 --greedy --set packs.cache=on
    want=$output
    file=$(find "$packs" -type f)
    printf 'x' | dd of="$file" bs=1 seek=100000 conv=notrunc status=none
    run --separate-stderr tenon run austen "It is" -n 4 --greedy --set packs.cache=on
    [ "$status" -eq 0 ] && [ "$output" = "$want" ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ "$stderr" == *"warning: packs are made anew: "*"$file"*"damaged"* ]]
    run --separate-stderr tenon run austen "It is" -n 4 --greedy --set packs.cache=on
    [ "$output" = "$want" ] && [ -z "$stderr" ]
}

@test "what cannot be kept is told with one line" {
    run tenon run austen "It is" -n 4 --greedy
    want=$output
    tenon devices >/dev/null
    rm -rf "$packs"
    touch "$packs"
    run --separate-stderr tenon run austen "It is" -n 4 --greedy --set packs.cache=on
    [ "$status" -eq 0 ] && [ "$output" = "$want" ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ "$stderr" == *"warning: packs are not kept, so they are made at every start: "*"$packs"* ]]
    rm "$packs"
    run --separate-stderr tenon run austen "It is" -n 4 --greedy --set packs.cache=on --set packs.cache_mib=1
    [ "$status" -eq 0 ] && [ "$output" = "$want" ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ "$stderr" == *"1 MiB that packs.cache_mib allows"* ]]
}

@test "of a placement that does not fit as a whole nothing is written, and nothing goes for it" {
    tenon run austen "It is" -n 2 --set packs.cache=on
    ls "$packs" >before
    all=$(du -s --apparent-size -BM "$packs" | cut -f 1)
    limit=$((${all%M} - 1))
    [ "$limit" -gt 1 ]
    for time in first second; do
        run --separate-stderr tenon plan austen --set plugin.cpu.devices=4 -sm row --set packs.cache=on --set "packs.cache_mib=$limit"
        [ "$status" -eq 0 ]
        [ "$(grep -c "of them are more than the $limit MiB that packs.cache_mib allows" <<<"$stderr")" = 1 ]
        ls "$packs" | cmp - before
    done
}

@test "nothing is kept of a model that was read into memory, or is not packed" {
    tenon run austen "It is" -n 2 --set packs.cache=on --no-mmap
    tenon run austen "It is" -n 2 --set packs.cache=on --no-repack
    [ ! -e "$packs" ]
}

@test "the help tells where packs are" {
    run tenon --help
    [ "$status" -eq 0 ]
    [[ "$(tr '\n' ' ' <<<"$output")" == *"XDG_CACHE_HOME (where tenon/tune, tenon/plugins and tenon/packs are)"* ]]
}
