"""Small programs on llama.cpp, for the scripts that hold our data to it.

SOURCES is a checkout of llama.cpp, BUILD the folder it was built in with
shared libraries (`cmake -B BUILD -DBUILD_SHARED_LIBS=ON SOURCES`); release
b11434 is known to work.  Needs a C compiler as `cc`.
"""
import os
import subprocess


def build_program(sources, build, folder, text):
    """Compiles a C text that includes llama.h; the path of the program."""
    program, source = os.path.join(folder, "peer"), os.path.join(folder, "peer.c")
    libraries = os.path.abspath(os.path.join(build, "bin"))
    with open(source, "w", encoding="ascii") as f:
        f.write(text)
    subprocess.run(["cc", "-O1", "-o", program, source, f"-I{sources}/include",
                    f"-I{sources}/ggml/include", f"-L{libraries}", "-lllama", "-lggml",
                    "-lggml-base", f"-Wl,-rpath,{libraries}",
                    f"-Wl,-rpath-link,{libraries}"], check=True)
    return program
