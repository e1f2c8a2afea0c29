/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The work list of psnap sweep: items, each an input with one edit and one seed, and the machines
 * that all of them are simulated on. Private to cmd_worklist*.c.
 */
#ifndef PSNAP_CMD_WORKLIST_H
#define PSNAP_CMD_WORKLIST_H

#include "formats/base/cmd.h"
#include "simcore/simcore.h"

struct hash_text { /* 128 bits of XXH3 */
    char digits[33];
};

struct input {
    const char *path;
    struct hash_text hash; /* of its content; "": not known so far */
    bool is_profile;
};

struct item {
    struct input *input;
    const char *edit; /* "": none */
    uint64_t seed;
    bool is_first; /* of an input and edit */
};

struct worklist {
    struct psnap_text_list machine_names, parameters, edits, seeds;
    bool by_loop;
    uint64_t accesses;  /* of each stream, UINT64_MAX: all */
    const char *folder; /* of results */

    struct input *inputs;
    size_t input_count;
    struct psnap_machine *machines; /* without TLBs, of which nothing is reported */
    size_t machine_count;
    struct hash_text machine_hash; /* of all machines */
    struct item *items;            /* in order of input, edit, seed */
    size_t count;
};

/* Makes inputs, machines and items. */
enum psnap_status worklist_lay_out(struct worklist *list, char *const *paths, size_t count,
                                   struct psnap_error *error);
void worklist_release(struct worklist *list);

/* All bytes of a file, for the caller to free; NULL: it is not there, or cannot be read. */
char *worklist_content(const char *path, size_t *size);
struct hash_text worklist_hash(const void *bytes, size_t size);
/* The rows of an item's result, which the caller frees; NULL: it is not there. With `tells` a
 * damaged one is named on standard error. */
char *result_read(const struct worklist *list, const struct item *item, bool tells);
/* Simulates an item and writes its result. */
enum psnap_status result_make(const struct worklist *list, const struct item *item,
                              struct psnap_error *error);
/* Writes the table of the items whose results are there, and returns how many are not. */
size_t results_table(const struct worklist *list, FILE *file);

#endif
