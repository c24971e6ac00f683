// byte_alphabet.c: the letters of byte-level BPE, by arithmetic. The bytes that do not print are
// three runs:
//   0x00 to 0x20 are U+0100 to U+0120,  0x7F to 0xA0 are U+0121 to U+0142,  0xAD is U+0143
#include "byte_alphabet.h"

#include <stdbool.h>

size_t tlm_byte_letter(unsigned char byte, char to[2])
{
    unsigned letter = byte;
    if (byte <= 0x20)
        letter = 0x100u + byte;
    else if (byte >= 0x7F && byte <= 0xA0)
        letter = 0x121u + (byte - 0x7Fu);
    else if (byte == 0xAD)
        letter = 0x143u;
    if (letter < 0x80) {
        to[0] = (char)letter;
        return 1;
    }
    to[0] = (char)(0xC0u | letter >> 6);
    to[1] = (char)(0x80u | (letter & 0x3Fu));
    return 2;
}

// -1: no letter.
static int byte_of_letter(unsigned letter)
{
    if (letter >= 0x100 && letter <= 0x120)
        return (int)(letter - 0x100);
    if (letter >= 0x121 && letter <= 0x142)
        return (int)(letter - 0x121 + 0x7F);
    if (letter == 0x143)
        return 0xAD;
    bool prints = (letter > 0x20 && letter < 0x7F) ||
                  (letter > 0xA0 && letter < 0x100 && letter != 0xAD);
    return prints ? (int)letter : -1;
}

size_t tlm_letters_to_bytes(const char *text, size_t bytes, char *to)
{
    size_t written = 0;
    for (size_t i = 0; i < bytes;) {
        unsigned char lead = (unsigned char)text[i];
        bool has_two = (lead & 0xE0) == 0xC0 && i + 1 < bytes &&
                       ((unsigned char)text[i + 1] & 0xC0) == 0x80;
        unsigned letter = has_two ? (lead & 0x1Fu) << 6 | ((unsigned char)text[i + 1] & 0x3Fu)
                                  : lead;
        int byte = has_two || lead < 0x80 ? byte_of_letter(letter) : -1;
        if (byte >= 0) {
            to[written++] = (char)byte;
            i += has_two ? 2 : 1;
        } else {
            to[written++] = text[i++];
        }
    }
    return written;
}
