// byte_alphabet.h: the letters in which byte-level BPE vocabularies spell bytes.
//
// Bytes that print (! to ~, U+00A1 to U+00AC, U+00AE to U+00FF) are spelled as the character of
// that number; the other 68, in ascending order, as U+0100, U+0101 and so on: a space is U+0120.
// Radford et al. 2019, "Language models are unsupervised multitask learners", and the vocabularies
// that follow it.
#ifndef TLM_BYTE_ALPHABET_H
#define TLM_BYTE_ALPHABET_H

#include <stddef.h>

// Writes the letter of a byte as UTF-8; answers its length, 1 or 2.
size_t tlm_byte_letter(unsigned char byte, char to[2]);

// Decodes a text in letters to bytes; characters that are no letters stay as they are. `to` has
// room for `bytes`.
size_t tlm_letters_to_bytes(const char *text, size_t bytes, char *to);

#endif
