// level_neondot.h: as level_avx2.h. The level has the dot product of bytes (Armv8.2, optional)
// beside neon.
#ifndef CPU_LEVEL_NEONDOT_H
#define CPU_LEVEL_NEONDOT_H

#define AT_LEVEL(name) name##_neondot

#endif
