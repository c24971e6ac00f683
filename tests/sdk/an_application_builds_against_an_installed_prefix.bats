# A whole installed prefix, moved, as one who writes applications or plugins has it: pkg-config, find_package, documents.
# TENON is the command of the build, BUILD its folder; CC, CFLAGS, GENERATOR those of the build.

bats_require_minimum_version 1.5.0

# clean COMMAND…: with nothing of this environment but where programs and the prefix are.
clean() {
    env -i "PATH=$PATH" "HOME=$BATS_FILE_TMPDIR/home" LC_ALL=C "PKG_CONFIG_PATH=$PREFIX/lib/pkgconfig" \
        "LD_LIBRARY_PATH=$PREFIX/lib" "$@"
}

# Processes of the kit end with work in flight, and some are forks: leaks are not looked for in them.
KIT="ASAN_OPTIONS=detect_leaks=0 TSAN_OPTIONS=atexit_sleep_ms=0"
kit() { clean $KIT "$PREFIX/bin/tenon" conform "$@"; }

# build FOLDER: configured with find_package, and built.
build() {
    clean cmake -S "$1" -B "$1/build" -G "$GENERATOR" "-DCMAKE_C_COMPILER=$CC" "-DCMAKE_C_FLAGS=$CFLAGS" \
        "-DCMAKE_PREFIX_PATH=$PREFIX" >&2
    clean cmake --build "$1/build" --parallel 2 >&2
}

setup_file() {
    export PREFIX=$BATS_FILE_TMPDIR/moved/to
    cd "$BATS_FILE_TMPDIR"
    cmake --install "$BUILD" --prefix "$BATS_FILE_TMPDIR/installed" >&2
    mkdir moved
    mv installed moved/to
    export EXAMPLES=$PREFIX/share/doc/tenon/examples MODEL=$PREFIX/share/tenon/models/austen.gguf
}

setup() { cd "$BATS_FILE_TMPDIR"; }

@test "the installed command finds its plugins and its model" {
    run --separate-stderr -0 clean "$PREFIX/bin/tenon" plugins --why
    [[ $output == *"$PREFIX/lib/tenon/plugins: "* ]]
    [[ $output == *"$PREFIX/lib/tenon/plugins/cpu.so"* ]]
    [ -z "$stderr" ]   # its helper too
    [ -x "$PREFIX/lib/tenon/tenon-probe" ]
    run --separate-stderr -0 clean env -u LD_LIBRARY_PATH "$PREFIX/bin/tenon" run austen "She was" -n 2 --greedy
    [ -n "$output" ]
}

@test "the examples build by pkg-config, and run" {
    clean $CC $CFLAGS "$EXAMPLES/build_and_run.c" $(clean pkg-config --cflags --libs tenon) -o by_pkgconfig
    run -0 clean ./by_pkgconfig
    [[ $output == "y = 1.65"*" -0.26"* ]]
    clean $CC $CFLAGS "$EXAMPLES/plan_memory.c" $(clean pkg-config --cflags --libs tenon) -o plan_by_pkgconfig
    run -0 clean ./plan_by_pkgconfig
    [[ $output == "peak 5120, no plan is below 5120, without reuse 9728"*"cpu0: peak 8192"*"turned: steps 1 to 2, at "*", in place of add.1"* ]]
    clean $CC $CFLAGS "$EXAMPLES/generate.c" $(clean pkg-config --cflags --libs tenon-lm) -o generate_by_pkgconfig
    run -0 clean ./generate_by_pkgconfig "$MODEL" "She was at Bath"
    [[ $output =~ [a-z]+\ [a-z]+ ]]
    run -1 clean ./generate_by_pkgconfig nowhere.gguf "She"
    [[ $output == "TN_E_FILE: nowhere.gguf"* ]]
}

@test "the examples build by find_package, and run without the loader's help" {
    cp -r "$EXAMPLES" examples
    build examples
    run -0 clean env -u LD_LIBRARY_PATH examples/build/build_and_run
    [[ $output == "y = 1.65"*" -0.26"* ]]
    run -0 clean env -u LD_LIBRARY_PATH examples/build/generate "$MODEL" "She was at Bath"
    [[ $output =~ [a-z]+\ [a-z]+ ]]
}

@test "versions: the package has that of the contract, the libraries have their own" {
    run -0 clean "$PREFIX/bin/tenon" --version
    version=${output#tenon }
    for name in tenon tenon-lm; do
        run -0 clean pkg-config --modversion $name
        [ "$output" = "$version" ]
    done
    run -0 clean pkg-config --modversion tenon-sdk
    [ "$output" = 1.0 ]
    mkdir -p versions
    printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' 'project(versions LANGUAGES NONE)' \
        'find_package(tenon ${WANTED} REQUIRED COMPONENTS ${PARTS})' >versions/CMakeLists.txt
    wants() { clean cmake -G Ninja -S versions -B versions/build "-DCMAKE_PREFIX_PATH=$PREFIX" "-DWANTED=$1" "-DPARTS=$2"; }
    wants 1.0 "sdk;core;lm"
    run ! wants 2.0 sdk
    run ! wants 1.0 gpu
    [[ $output == *"the component 'gpu' of tenon is not installed here"* ]]
}

@test "a new plugin builds by find_package, and is used by a graph" {
    clean "$PREFIX/bin/tenon" plugins new npu
    build npu
    run -0 clean npu/build/try_npu
    [[ $output == *"segment 0 on npu0"* ]]
    [[ $output == *"silu(1) = 0.731059"* ]]
    run -0 clean "$PREFIX/bin/tenon" devices --plugin npu/build/npu.so
    [[ $output == *npu0* ]]
    cp -r npu npu2   # the same name: the second is shadowed
    run -0 clean "$PREFIX/bin/tenon" plugins --plugin npu/build/npu.so --plugin npu2/build/npu.so --why
    [[ $output == *"shadowed"*"npu2/build/npu.so"* ]]
}

@test "a new plugin builds by pkg-config alone" {
    cd "$BATS_TEST_TMPDIR"
    clean "$PREFIX/bin/tenon" plugins new my-npu_2
    cd my-npu_2
    clean $CC -O3 -fno-trapping-math -shared -fPIC -pthread my-npu_2.c $(clean pkg-config --cflags --libs tenon-sdk) -o my-npu_2.so
    run -0 nm -D --defined-only --format=posix my-npu_2.so
    [ "${#lines[@]}" -eq 1 ]
    run -0 kit my-npu_2.so --filter file --filter claims --filter programs --filter 'ops.silu*'
    [[ $output == *" cases passed, 0 failed"* ]]
    clean $CC $CFLAGS '-DTRY_PLUGIN="nowhere"' try.c $(clean pkg-config --cflags --libs tenon) -o try
    run -0 clean ./try ./my-npu_2.so
    [[ $output == *"on my-npu_20"*"silu(1) = 0.731059"* ]]
}

# commands FILE: what the `sh` blocks of a document show, as a script that ends at the first failure.
commands() {
    printf 'set -e\n'
    sed -n '/^```sh$/,/^```$/s/^\$ //p' "$1" | sed 's/^! \(.*\)/if \1; then exit 1; fi/'
}

@test "the walk-through and the page on packages can be typed" {
    mkdir walk && cd walk
    commands "$PREFIX/share/tenon/sdk/docs/walkthrough.md" >walk.sh
    [ "$(wc -l <walk.sh)" -gt 12 ]
    run -0 clean $KIT "CMAKE_GENERATOR=$GENERATOR" "PREFIX=$PREFIX" "PATH=$PREFIX/bin:$PATH" "CC=$CC" "CFLAGS=$CFLAGS" bash walk.sh
    [[ $output == *"build/npu.so: "*" cases passed, 0 failed"*" ops.sigmoid"* ]] # the whole kit
    commands "$PREFIX/share/tenon/sdk/docs/packaging.md" >package.sh
    cd npu/build
    clean env "PATH=$PREFIX/bin:$PATH" bash ../../package.sh
    grep -q '^sha256 = ' tenon.ini
}

@test "the template is one file of less than 300 lines, and what the command writes is what is installed" {
    [ "$(wc -l <"$PREFIX/share/tenon/sdk/template/template.c")" -lt 300 ]
    clean "$PREFIX/bin/tenon" plugins new template --dir same
    diff -r same "$PREFIX/share/tenon/sdk/template"
}

@test "no file of the prefix tells where it was built, and every link of a document leads somewhere" {
    run -1 grep -rlF -e "$BUILD" -e "$BATS_FILE_TMPDIR/installed" "$PREFIX/lib/cmake" "$PREFIX/lib/pkgconfig" "$PREFIX/share"
    for name in LICENSE README.md CHANGELOG.md configuration.md command.md; do [ -s "$PREFIX/share/doc/tenon/$name" ]; done
    for page in $(find "$PREFIX/share" -name '*.md'); do
        for link in $(grep -oE '\]\([^)#]+' "$page" | sed 's/^](//' | grep -v '^http'); do
            [ -e "$(dirname "$page")/$link" ] || { echo "$page links $link" >&2; return 1; }
        done
    done
}
