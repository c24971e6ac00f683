// A destructor ends the process of the application, in its stead.
#include <unistd.h>

#include "honest.inc"

__attribute__((destructor)) static void end(void) { _exit(0); }

static void spoil(void) {}
