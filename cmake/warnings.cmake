# Targets carry their needs: link tenon_warnings privately.
add_library(tenon_warnings INTERFACE)
target_compile_options(tenon_warnings INTERFACE
    -Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla
    $<$<BOOL:$ENV{CI}>:-Werror>)
