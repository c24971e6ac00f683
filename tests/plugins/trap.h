// trap.h: a constructor that ends the process: for files that are refused before any of their code
// runs.
__attribute__((constructor)) static void trap(void) { __builtin_trap(); }
