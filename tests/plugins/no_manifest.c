// The plugin of another project: no note of ours. Its constructor must not run.
#include "trap.h"

__attribute__((visibility("default"))) int other_project_init(void);
int other_project_init(void) { return 0; }
