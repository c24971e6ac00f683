// nearest.c: the word that is nearest to another.
#include "base/nearest.h"

#include <string.h>

// Levenshtein distance of two words shorter than TNI_NEAREST_BYTES. Source: Levenshtein 1966, by
// one row of the table.
static size_t distance(const char *a, const char *b)
{
    size_t row[TNI_NEAREST_BYTES], n = strlen(b);
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t corner = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t change = corner + (a[i - 1] != b[j - 1]);
            corner = row[j];
            size_t least = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;
            row[j] = change < least ? change : least;
        }
    }
    return row[n];
}

tni_nearest tni_nearest_to(const char *given)
{
    size_t bytes = strlen(given);
    return (tni_nearest){ given, NULL, bytes < TNI_NEAREST_BYTES ? bytes / 2 + 1 : 0 };
}

void tni_nearest_try(tni_nearest *nearest, const char *word)
{
    if (nearest->distance == 0 || strlen(word) >= TNI_NEAREST_BYTES)
        return;
    size_t d = distance(nearest->given, word);
    if (d < nearest->distance) {
        nearest->word = word;
        nearest->distance = d;
    }
}
