/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names for addresses of a program that is running: functions and variables
 * from the symbol tables of its ELF files (or of their separate debug files),
 * lines from DWARF.
 */
#ifndef PSNAP_CAPTURE_VALGRIND_SYMBOLS_H
#define PSNAP_CAPTURE_VALGRIND_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"

struct psnap_symbols;

/* An ELF file in memory. Texts belong to the symbols. */
struct psnap_image {
    const char *path;
    const char *name;   /* "libc.so.6" */
    uint64_t low, high; /* what it occupies, without a heap behind it */
};

/* A function or a variable: [low, high), absolute. */
struct psnap_symbol {
    const char *name; /* as in the symbol table; NULL: none */
    uint64_t low, high;
};

struct psnap_place_in_source {
    const char *file;   /* without folders; "" when unknown */
    uint32_t line;      /* 0 when unknown */
    uint32_t inlined;   /* into how many functions, one in another, the code has been inlined */
    char function[256]; /* of the source, "ns::f" in C++; "" when not asked for or unknown */
};

struct psnap_symbols *psnap_symbols_new(struct psnap_error *error);
void psnap_symbols_free(struct psnap_symbols *symbols);

/*
 * The image of the file that is mapped from `low` on, which is read when it is
 * new. PSNAP_OK and *image NULL when it is no ELF file that can be read.
 */
enum psnap_status psnap_symbols_image(struct psnap_symbols *symbols, const char *path, uint64_t low,
                                      const struct psnap_image **image, struct psnap_error *error);

/* The function that holds `address`; false when no symbol says so. */
bool psnap_symbols_function(const struct psnap_image *image, uint64_t address,
                            struct psnap_symbol *function);

/* The n-th variable of the image, by address; false when there are no more. */
bool psnap_symbols_variable(const struct psnap_image *image, size_t n,
                            struct psnap_symbol *variable);

/* Where the instruction at `address` comes from; the function of the source too when it is asked
 * for, which takes longer. */
void psnap_symbols_place(const struct psnap_image *image, uint64_t address, bool with_function,
                         struct psnap_place_in_source *place);

/* Language ("C", "C++", "Fortran", "") and compiler of the unit that holds `address`. */
void psnap_symbols_origin(const struct psnap_image *image, uint64_t address, const char **language,
                          const char **compiler);

#endif
