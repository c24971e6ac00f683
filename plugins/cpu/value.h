// value.h: values of a slice as the ops see them. What a slice says is checked and copied by
// helpers/nodes.h of the sdk.
#ifndef CPU_VALUE_H
#define CPU_VALUE_H

#include <tenon/helpers/nodes.h>

#include "cpu.h"

// The value as an op sees it, all of its dims counting.
void cpu_tensor_fill(const tnh_value *value, char *data, cpu_tensor *out);

#endif
