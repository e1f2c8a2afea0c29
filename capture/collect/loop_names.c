/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A loop of the source has one name in a program: where two files have an
 * "init:3", both are told apart by their files, "init:3@a.c" and "init:3@b.c", in
 * whatever order they are linked; the one that came first is renamed. Loop ids
 * are unique: what further modules have of a loop of one file (of a header) is
 * "f:12@module.c", a part of f:12.
 */
#include "capture/collect/loop_names.h"

#include <search.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A name that is in use; those that are `shared` are no loop's any more. */
struct claim {
    const char *text, *file;
    bool is_shared;
};

static int compare_claims(const void *a, const void *b)
{
    return strcmp(((const struct claim *)a)->text, ((const struct claim *)b)->text);
}

static struct claim *find_claim(void *const *tree, const char *text)
{
    const struct claim wanted = {.text = text};
    struct claim *const *found = tfind(&wanted, tree, compare_claims);

    return found ? *found : NULL;
}

/* Claims a copy of `text`, which lives as long as the program. NULL when out of memory. */
static const char *claim_name(struct psnap_program *program, void **tree, const char *text,
                              const char *file)
{
    struct claim *claim = malloc(sizeof *claim);

    if (claim)
        *claim = (struct claim){psnap_program_string(program, text),
                                psnap_program_string(program, file), false};
    if (!claim || !claim->text || !claim->file || !tsearch(claim, tree, compare_claims)) {
        free(claim);
        return NULL;
    }
    return claim->text;
}

/* The first of TEXT@FILE, TEXT@FILE#2 ... that nobody has. */
static const char *claim_other(struct psnap_program *program, void **tree, const char *text,
                               const char *from, const char *file)
{
    char name[1300];

    snprintf(name, sizeof name, "%s@%s", text, from);
    for (unsigned n = 2; find_claim(tree, name); n++)
        snprintf(name, sizeof name, "%s@%s#%u", text, from, n);
    return claim_name(program, tree, name, file);
}

/* The first one's name is no longer its alone: all loops that have it are told apart, too, by
 * their file. False when out of memory. */
static bool share(struct psnap_loop_names *names, struct psnap_program *program,
                  struct claim *first, bool is_source)
{
    void **tree = is_source ? &names->src_ids : &names->ids;
    const char *other;

    if (first->is_shared)
        return true;
    other = claim_other(program, tree, first->text, first->file, first->file);
    if (!other)
        return false;
    first->is_shared = true;
    for (uint32_t i = 0; i < program->loop_count; i++) {
        struct psnap_loop *loop = &program->loops[i];
        const char **name = is_source ? &loop->src_id : &loop->id;
        if (*name == first->text)
            *name = other;
    }
    return true;
}

const char *psnap_name_source_loop(struct psnap_loop_names *names, struct psnap_program *program,
                                   const char *text, const char *file)
{
    struct claim *first = find_claim(&names->src_ids, text), *mine;
    char name[1300];

    if (!first)
        return claim_name(program, &names->src_ids, text, file);
    if (!first->is_shared && !strcmp(first->file, file))
        return first->text;
    if (!share(names, program, first, true))
        return NULL;
    snprintf(name, sizeof name, "%s@%s", text, file);
    mine = find_claim(&names->src_ids, name);
    return mine ? mine->text : claim_name(program, &names->src_ids, name, file);
}

const char *psnap_name_loop(struct psnap_loop_names *names, struct psnap_program *program,
                            const char *text, const char *file, const char *module)
{
    struct claim *first = find_claim(&names->ids, text);

    if (!first)
        return claim_name(program, &names->ids, text, file);
    if (!first->is_shared && !strcmp(first->file, file))
        return claim_other(program, &names->ids, text, module, file);
    if (!share(names, program, first, false))
        return NULL;
    return claim_other(program, &names->ids, text, file, file);
}

void psnap_loop_names_release(struct psnap_loop_names *names)
{
    tdestroy(names->ids, free);
    tdestroy(names->src_ids, free);
    *names = (struct psnap_loop_names){0};
}
