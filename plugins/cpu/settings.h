// settings.h: what the user asked for in [plugin.cpu].
#ifndef CPU_SETTINGS_H
#define CPU_SETTINGS_H

#include "cpu.h"

typedef struct cpu_settings {
    cpu_options options;   // activations=q8|f32; q8 is the default. repack=on|off; on
    uint32_t devices;   // devices=1..16: how many devices are offered, as a machine with that many
                        // nodes would; 1
    uint32_t threads;   // threads=1..4096: a cap on the workers of all devices together; 0 = the
                        // host's number
} cpu_settings;

// Errors: TNP_E_ARG for a value that is none of those.
tnp_status cpu_settings_read(const tnp_host *host, cpu_settings *out, tnp_error *err);

#endif
