// nearest.h: which word was probably meant. It needs nothing of libtenon, and the command uses it
// too (tenon_nearest).
#ifndef TNI_NEAREST_H
#define TNI_NEAREST_H

#include <stddef.h>

enum { TNI_NEAREST_BYTES = 64 };   // longer words, with the NUL, are near to none

typedef struct tni_nearest {
    const char *given;
    const char *word;   // the nearest so far, lent; NULL: none is near
    size_t distance;    // the next word has to be nearer
} tni_nearest;

// Letters that differ (Levenshtein distance); more than half of it wrong is no slip.
tni_nearest tni_nearest_to(const char *given);
void tni_nearest_try(tni_nearest *nearest, const char *word);

#endif
