/* Hashes: of pairs of numbers, which scatter them well even where they stand in a row, and of bytes
 * one behind the other. Equal on every machine; not for adversaries. */
#ifndef VS_BASE_HASH_H
#define VS_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* The finalizer of SplitMix64 (Steele, Lea, Flood 2014). */
static inline uint64_t vs_hash_pair(uint64_t a, uint64_t b) {
    uint64_t x = a * 0x9e3779b97f4a7c15U + b;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
}

#endif
