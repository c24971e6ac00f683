// lines.glsl: how many lines count in a run, which lines.c binds and pushes.
struct LineCount {
    uint offset, dim, unit;
};
#define COUNTED_LINES(SLOT)                                                                        \
    LENGTH(SLOT, counted)                                                                          \
    bool is_beyond(LineCount c, uint line)                                                         \
    {                                                                                              \
        return line >= counted_of(c.offset, c.dim) * c.unit;                                       \
    }
