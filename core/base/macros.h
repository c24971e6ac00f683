// macros.h: the few macros of libtenon that are not tables.
#ifndef TNI_MACROS_H
#define TNI_MACROS_H

#define TN_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

// A condition that no input can make true. In a build with TN_CHECKED (never shipped) it traps
// where it is met; otherwise the branch behind it answers TN_E_INTERNAL.
#ifdef TN_CHECKED
#define TN_NEVER(condition) (__builtin_expect(!!(condition), 0) ? (__builtin_trap(), 1) : 0)
#else
#define TN_NEVER(condition) __builtin_expect(!!(condition), 0)
#endif

#endif
