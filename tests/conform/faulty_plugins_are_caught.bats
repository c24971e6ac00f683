#!/usr/bin/env bats
# Each faulty plugin is found by the case that was made for it, and by its words; the same cases pass on
# what the plugin was made from. faulty.table has a line for each.
bats_require_minimum_version 1.5.0
: "${TENON:?path of the command}" "${FAULTY:?folder of the faulty plugins}" "${TEMPLATE:?}" "${CPU:?}" "${TABLE:?}"

@test "every faulty plugin is caught by its case" {
    missed=0
    while read -r plugin case words; do
        [[ $plugin == "#" || -z $plugin ]] && continue
        [ -e "$FAULTY/$plugin.so" ] || [ "$plugin" != throws ] || continue   # needs a C++ compiler
        run --separate-stderr "$TENON" conform "$FAULTY/$plugin.so" --filter "$case" --timeout 2000
        if [ "$status" -ne 1 ] || [[ $output != "FAILED $case: want "*"$words"*"; again: tenon conform $FAULTY/$plugin.so --filter '$case'"* ]]; then
            echo "$plugin is not caught by $case with '$words': $output $stderr" >&2
            missed=$((missed + 1))
        fi
    done < "$TABLE"
    [ "$missed" -eq 0 ]
}

@test "every faulty plugin has its line" {
    for file in "$FAULTY"/*.so; do
        grep -q "^$(basename "$file" .so) " "$TABLE" || { echo "$file has no line" >&2; return 1; }
    done
}

@test "the same cases pass where there is no fault" {
    filters=()
    while read -r plugin case words; do
        [[ $plugin == "#" || -z $plugin || $plugin == ignores_extents || $plugin == packs_past ]] || filters+=(--filter "$case")
    done < "$TABLE"
    run --separate-stderr "$TENON" conform "$TEMPLATE" "${filters[@]}"
    [ "$status" -eq 0 ]
    run --separate-stderr "$TENON" conform "$CPU" --filter ops.sum.axis_0.f32.A33B5C3.A_counts_half
    [ "$status" -eq 0 ] && [[ $output == *": 1 case passed, 0 failed, 0 skipped"* ]]
}
