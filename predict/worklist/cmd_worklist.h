/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The work list of psnap sweep: streams, each an input with its edits and seed, and items, each a
 * stream on all machines, or a part of its simulation on those that can be split. Private to
 * cmd_worklist*.c.
 */
#ifndef PSNAP_CMD_WORKLIST_H
#define PSNAP_CMD_WORKLIST_H

#include "simcore/cmd_side.h"

enum { WORKLIST_TIME = 32 }; /* bytes of a time */

/* The machines of the list that can be split, or those that cannot. */
struct group {
    struct psnap_machine *machines; /* without TLBs, of which nothing is counted */
    size_t *numbers;                /* of these machines in the list */
    struct {
        char text[33];
    } *hashes; /* XXH3 of each machine's file, 128 bits */
    size_t count;
};

/* A file that streams come from, or a profile of a repository. */
struct input {
    char time[WORKLIST_TIME]; /* of its last change */
    char hash[33];            /* XXH3 of its content, 128 bits; "": not known so far */
    const char *repository;   /* NULL: a file */
    uint64_t bytes;           /* of a repository's */
};

enum { GROUP_WHOLE, GROUP_SPLIT, GROUP_COUNT };

struct item {
    const char *input, *edit; /* edit "": none */
    uint64_t seed;
    bool is_profile;
    size_t file;    /* its number in inputs */
    int group;      /* of machines */
    uint32_t part;  /* of the split, from 0; 0: not split */
    char *key;      /* says all that its result follows from but the input's content; one line */
    char *rows;     /* its counts (cmd_worklist_counts.c), when it is done */
    uint64_t bytes; /* of the input: what takes longest begins first */
};

struct worklist {
    struct psnap_text_list inputs, edits, machine_names, parameters;
    struct psnap_text_list query; /* which profiles of repositories (profile/repo/query.h) */
    struct input *files;          /* the inputs */
    char **texts;                 /* of a list that was read; they own their strings */
    size_t text_count;
    uint64_t *seeds;
    size_t seed_count;
    bool by_loop;
    uint64_t accesses; /* of each stream, UINT64_MAX: all */
    struct psnap_machine *machines;
    size_t machine_count;
    struct group groups[GROUP_COUNT];
    struct psnap_split split; /* of GROUP_SPLIT; parts 0: nothing is */
    struct item *items;       /* those of a stream one after the other, as many for each */
    size_t count, items_of_stream;
    uint32_t rank, ranks; /* this process takes items rank, rank + ranks, ... */
};

/* Adds what a YAML file lists (cmd_worklist_read.c has its form). */
enum psnap_status worklist_read(struct worklist *list, const char *path, struct psnap_error *error);
bool worklist_add_input(struct worklist *list, const char *path);  /* false: out of memory */
bool worklist_add_query(struct worklist *list, const char *words); /* the same */
/* A text that is the list's from now on; NULL: out of memory, or it was. */
const char *worklist_keep(struct worklist *list, char *text);
/* Puts the profiles of repositories in the place of these, and makes files of all inputs. */
enum psnap_status worklist_expand(struct worklist *list, struct psnap_error *error);
/* An item's profile as it is; NULL with `error` filled. */
struct psnap_profile *worklist_profile(const struct worklist *list, const struct item *item,
                                       struct psnap_error *error);
/* Makes the machines. */
enum psnap_status worklist_machines(struct worklist *list, struct psnap_error *error);
/* A machine as a file; the caller frees it. NULL with `error` filled. */
char *worklist_machine_text(const struct psnap_machine *machine, size_t *size,
                            struct psnap_error *error);
/* Whether an item's input is the file that it was when the list was read; a repository's is. */
bool worklist_is_unchanged(const struct worklist *list, const struct item *item);
/* Hash of an item's input, which is read once; "" with `error` filled where it cannot be. */
const char *worklist_hash(struct worklist *list, const struct item *item,
                          struct psnap_error *error);
/* Makes the items. */
enum psnap_status worklist_lay_out(struct worklist *list, struct psnap_error *error);
void worklist_release(struct worklist *list);

/* An item's counts to `file`. */
enum psnap_status worklist_simulate(const struct worklist *list, const struct item *item,
                                    FILE *file, struct psnap_error *error);

/* Counts of an item's machines to `file`, to be added or, else, subtracted. */
void counts_write(const struct compare_side *side, const struct group *group, bool is_added,
                  bool by_loop, FILE *file);
/* The results of all streams as CSV; all items are done, and their rows are of no use behind. */
enum psnap_status counts_report(struct worklist *list, FILE *file, struct psnap_error *error);

/*
 * Results so far, in a folder beside the file that all go to in the end, a file rank-RANK for each
 * rank: a record after the other, each with its item's key, length and sums, and its input's time
 * and hash: it holds for an input of the same time, or else of the same content. A damaged one is
 * named and not taken.
 */
#define JOURNAL_FOLDER ".psnap-sweep" /* behind the file's name */

struct journal;
/* Opens this rank's journal, and takes the results of all ranks' that are of items of the list.
 * PSNAP_ERROR_IO: another sweep is at work on the same file. */
struct journal *journal_open(const char *target, struct worklist *list, struct psnap_error *error);
/* Adds an item's rows. */
enum psnap_status journal_add(struct journal *journal, struct worklist *list,
                              const struct item *item, struct psnap_error *error);
/* Takes what other ranks added since. */
enum psnap_status journal_update(struct journal *journal, struct worklist *list,
                                 struct psnap_error *error);
/* Waits until no other rank is at work. */
enum psnap_status journal_wait(const struct journal *journal, struct psnap_error *error);
/* Closes it; with `all_done` the journals of all ranks go. */
void journal_close(struct journal *journal, bool all_done);

#endif
