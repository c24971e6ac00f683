# The sdk as a plugin author has it: an installed prefix and nothing else of Tenon. TENON is the command, BUILD and SOURCE
# the folders of the build and of the source; VULKAN is not empty where the Vulkan plugin is built;
# CC, CXX, GENERATOR, LAUNCHER those of the build.

bats_require_minimum_version 1.5.0

# clean COMMAND…: with nothing of this environment but where programs are.
clean() { env -i "PATH=$PATH" "HOME=$BATS_FILE_TMPDIR/home" LC_ALL=C "$@"; }

# build NAME TYPE FLAGS: a copy of a plugin's folder, built alone. A cache of the compiler's work, where this build has one,
# is the only thing that comes from elsewhere: it knows what the files of the prefix hold.
build() {
    cache=(${CCACHE_DIR:+"CCACHE_DIR=$CCACHE_DIR" "CCACHE_BASEDIR=$BATS_FILE_TMPDIR" CCACHE_NOHASHDIR=1})
    clean cmake -S "$1" -B "$1/build" -G "$GENERATOR" "-DCMAKE_C_COMPILER=$CC" "-DCMAKE_BUILD_TYPE=$2" \
        "-DCMAKE_PREFIX_PATH=$PREFIX" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON "-DCMAKE_C_FLAGS=$3" \
        ${CCACHE_DIR:+"-DCMAKE_C_COMPILER_LAUNCHER=$LAUNCHER"} >&2
    clean "${cache[@]}" cmake --build "$1/build" --parallel 2 >&2
}

setup_file() {
    export PREFIX=$BATS_FILE_TMPDIR/moved
    cd "$BATS_FILE_TMPDIR"
    cmake --install "$BUILD" --component sdk --prefix "$BATS_FILE_TMPDIR/installed" >&2
    mv installed moved   # a package may be unpacked anywhere
    cp -r moved/share/tenon/sdk/template template
    cp -r "$SOURCE/plugins/cpu" cpu
    build template Release -Werror
    build cpu Debug ""   # 70 files: what the optimizer makes of them takes long, and is seen where Tenon is built
    export plugins="template cpu"
    if [ -n "$VULKAN" ]; then
        cp -r "$SOURCE/plugins/vulkan" vulkan
        build vulkan Debug ""
        plugins+=" vulkan"
    fi
}

setup() { cd "$BATS_FILE_TMPDIR"; }

@test "only the prefix is used" {
    for name in $plugins; do
        run -1 grep -F -e "-I$SOURCE" -e "-isystem $SOURCE" "$name/build/compile_commands.json"
    done
}

@test "each plugin exports one symbol, and needs the system's libraries only" {
    for name in $plugins; do
        file=$name/build/$name.so
        run -0 nm -D --defined-only --format=posix "$file"
        [ "${#lines[@]}" -eq 1 ]
        [[ ${lines[0]} == "tenon_plugin_query T "* ]]
        run -0 nm -D --undefined-only --format=posix "$file"
        for line in "${lines[@]}"; do   # of glibc, or weak: what the compiler's startup code looks for
            [[ $line == *@GLIBC_* || $line == *" w"* ]] || { echo "$file needs $line" >&2; return 1; }
        done
        run -0 readelf --dynamic --wide "$file"
        for line in "${lines[@]}"; do
            [[ $line != *"(NEEDED)"* || $line =~ \[(libc|libm|libpthread|ld-linux.*)\.so ]] ||
                { echo "$file: $line" >&2; return 1; }
        done
    done
}

@test "the header compiles alone, as C11 and as C++11 and C++17" {
    printf '#include <tenon/plugin.h>\n' > alone.c
    cp alone.c alone.cpp
    clean "$CC" -std=c11 -Wall -Wextra -Wpadded -pedantic -Werror -I"$PREFIX/include" -fsyntax-only alone.c
    [ -n "$CXX" ] || skip "no C++ compiler"
    for standard in c++11 c++17; do
        clean "$CXX" "-std=$standard" -Wall -Wextra -pedantic -Werror -I"$PREFIX/include" -fsyntax-only alone.cpp
    done
}

@test "the command loads the template" {
    run -0 env -i "HOME=$BATS_FILE_TMPDIR/home" "$TENON" plugins --plugin template/build/template.so --why
    [[ $output == *"template "*" ABI 1.0  1 device "*"/template/build/template.so"* ]]
    run -0 env -i "HOME=$BATS_FILE_TMPDIR/home" "$TENON" devices --plugin template/build/template.so
    [[ $output == *template0* ]]
}

@test "the template built by another compiler, and its helpers in C++, keep the rules" {
    KIT="ASAN_OPTIONS=detect_leaks=0 TSAN_OPTIONS=atexit_sleep_ms=0"
    if command -v clang; then
        clean clang -std=c11 -O2 -Wall -Wextra -Werror -shared -fPIC -pthread -I"$PREFIX/include" template/template.c \
            -Wl,--version-script="$PREFIX/share/tenon/plugin.version" -o by_clang.so
        run -0 clean $KIT "$TENON" conform by_clang.so --filter queues --filter semaphores --filter programs --filter ops.silu
        [[ $output == *" cases passed, 0 failed"* ]]
    fi
    [ -n "$CXX" ] || skip "no C++ compiler"
    for header in queue memory slice; do
        printf '#include <tenon/helpers/%s.h>\n' $header > alone.cpp
        for standard in c++11 c++17; do
            clean "$CXX" "-std=$standard" -Wall -Wextra -pedantic -Werror -I"$PREFIX/include" -fsyntax-only alone.cpp
        done
    done
}
