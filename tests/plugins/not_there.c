// The library that missing_library is linked with.
__attribute__((visibility("default"))) int function_of_missing_library(void);
int function_of_missing_library(void) { return 0; }
