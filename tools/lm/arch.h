// arch.h: the architectures, each defined in its own file.
#ifndef TLM_ARCH_H
#define TLM_ARCH_H

#include "build.h"

#define ARCHITECTURE(architecture) extern const tlm_architecture architecture;
#include "architectures.def"

#endif
