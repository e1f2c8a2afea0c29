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

#include "formats/base/program.h"

/* An ELF file in memory. */
struct psnap_image {
    struct psnap_image *next;
    char *path;
    const char *name;   /* "libc.so.6" */
    uint64_t low, high; /* addresses that it occupies, without a heap behind it */
    /* libdwfl's; module is NULL when the file is none that it can read. */
    struct Dwfl *dwfl;
    struct Dwfl_Module *module;
    struct psnap_symbol *symbols; /* by address */
    size_t symbol_count;
    uint64_t bias; /* address in memory - address in DWARF */
};

struct psnap_place_in_source {
    const char *file;   /* without folders; "" when unknown */
    uint32_t line;      /* 0 when unknown */
    uint32_t inlined;   /* into how many functions, one in another, the code has been inlined */
    char function[256]; /* of the source, "ns::f" in C++; "" when not asked for or unknown */
};

/*
 * The image of the file that is mapped from `low` on, which joins the list `images` when it is
 * new. PSNAP_OK and *image NULL when it is no ELF file that can be read.
 */
enum psnap_status psnap_symbols_image(struct psnap_image **images, const char *path, uint64_t low,
                                      struct psnap_image **image, struct psnap_error *error);
void psnap_symbols_free(struct psnap_image *images);

/* The name of the function that holds `address`, as in the symbol table, and its [low, high); NULL
 * when no symbol says so. The name lives as long as the image. */
const char *psnap_symbols_function(const struct psnap_image *image, uint64_t address, uint64_t *low,
                                   uint64_t *high);

/* Adds the variables of the image to the objects of the program, `delta` above where they are;
 * false when out of memory. */
bool psnap_symbols_add_variables(const struct psnap_image *image, uint64_t delta,
                                 struct psnap_program *program);

/* Where the instruction at `address` comes from; the function of the source too when it is asked
 * for, which takes longer. */
void psnap_symbols_place(const struct psnap_image *image, uint64_t address, bool with_function,
                         struct psnap_place_in_source *place);

/* Language ("C", "C++", "Fortran", "") and compiler of the unit that holds `address`. */
void psnap_symbols_origin(const struct psnap_image *image, uint64_t address, const char **language,
                          const char **compiler);

#endif
