# common.bash: loaded by every file here. TENON is the command, TENON_TEST_PLUGINS the folder of the test plugins.
: "${TENON:?path of the command}"

setup() {
    cd "$BATS_TEST_TMPDIR"
    export HOME=$BATS_TEST_TMPDIR XDG_CONFIG_HOME=$BATS_TEST_TMPDIR/config XDG_CACHE_HOME=$BATS_TEST_TMPDIR/.cache
    unset TENON_PLUGIN_PATH
}

tenon() { "$TENON" "$@"; }

# json EXPRESSION: a Python expression over `o`, the object in $output.
json() { python3 -c 'import json,sys; o=json.loads(sys.argv[1]); print(eval(sys.argv[2]))' "$output" "$1"; }

# fails_with CODE TEXT COMMAND…: exit code, one line on stderr with the text, nothing on stdout.
fails_with() {
    local code=$1 text=$2
    shift 2
    run --separate-stderr "$@"
    [ "$status" -eq "$code" ] || { echo "exit code $status instead of $code: $stderr" >&2; return 1; }
    [ -z "$output" ] || { echo "stdout: $output" >&2; return 1; }
    [ "${#stderr_lines[@]}" -eq 1 ] || { echo "not one line: $stderr" >&2; return 1; }
    [[ $stderr == *"$text"* ]] || { echo "'$text' is not in: $stderr" >&2; return 1; }
}
