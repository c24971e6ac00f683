# aarch64.cmake: builds for aarch64 on another Debian machine, and runs what was built under qemu-user. Beside
# gcc-aarch64-linux-gnu and qemu-user it takes the libraries of that architecture, side by side with the machine's own:
#   dpkg --add-architecture arm64 && apt-get update
#   apt-get install libjansson-dev:arm64 libinih-dev:arm64 libpcre2-dev:arm64 libutf8proc-dev:arm64 libmd-dev:arm64 libxxhash-dev:arm64 libcmocka-dev:arm64
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER CMAKE_CXX_COMPILER-NOTFOUND)   # one test plugin in C++ is left out
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64)
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)
