// reduce.glsl: reductions over a workgroup of GROUP invocations, all of which call them and get the
// result.
#ifdef SUBGROUPS
#define REDUCTION(TYPE, NAME, SUBGROUP, ROOM, BOTH)                                                \
    shared TYPE ROOM[GROUP];                                                                       \
    TYPE NAME(TYPE x)                                                                              \
    {                                                                                              \
        TYPE y = SUBGROUP(x);                                                                      \
        if (gl_NumSubgroups == 1)                                                                  \
            return y;                                                                              \
        barrier(); /* the one before has been read */                                              \
        if (subgroupElect())                                                                       \
            ROOM[gl_SubgroupID] = y;                                                               \
        barrier();                                                                                 \
        y = ROOM[0];                                                                               \
        for (uint i = 1; i < gl_NumSubgroups; i++) {                                               \
            x = ROOM[i];                                                                           \
            y = BOTH;                                                                              \
        }                                                                                          \
        return y;                                                                                  \
    }
#else
#define REDUCTION(TYPE, NAME, SUBGROUP, ROOM, BOTH)                                                \
    shared TYPE ROOM[GROUP];                                                                       \
    TYPE NAME(TYPE x)                                                                              \
    {                                                                                              \
        TYPE y = x;                                                                                \
        barrier(); /* the one before has been read */                                              \
        ROOM[gl_LocalInvocationIndex] = x;                                                         \
        for (uint half_of = GROUP / 2; half_of > 0; half_of /= 2) {                                \
            barrier();                                                                             \
            if (gl_LocalInvocationIndex < half_of) {                                               \
                x = ROOM[gl_LocalInvocationIndex + half_of];                                       \
                y = BOTH;                                                                          \
                ROOM[gl_LocalInvocationIndex] = y;                                                 \
            }                                                                                      \
        }                                                                                          \
        barrier();                                                                                 \
        return ROOM[0];                                                                            \
    }
#endif

#define GROUP_SUM REDUCTION(float, group_sum, subgroupAdd, group_sums, x + y)
#define GROUP_MAX REDUCTION(float, group_max, subgroupMax, group_maxima, max(x, y))
#define GROUP_HIGHEST REDUCTION(uint, group_highest, subgroupMax, group_highests, max(x, y))
#define GROUP_LOWEST REDUCTION(uint, group_lowest, subgroupMin, group_lowests, min(x, y))
