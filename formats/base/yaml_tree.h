/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Between yaml.c (libyaml's events) and yaml_tree.c (the nodes): private to
 * formats/base.
 */
#ifndef PSNAP_BASE_YAML_TREE_H
#define PSNAP_BASE_YAML_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/base/yaml.h"

struct psnap_arena;

struct psnap_yaml_doc {
    struct psnap_arena *arena; /* nodes and strings */
    char *name;
    struct psnap_yaml_node *root;
    size_t nodes;
    bool is_cut;        /* a file's last line has no end: more may be missing */
    bool out_of_memory; /* an addition failed: the tree is incomplete */
};

/*
 * A new last child of `parent`, the root when that is NULL. `key` and `text`
 * are not copied. NULL: out of memory, also remembered in the document.
 */
struct psnap_yaml_node *psnap_yaml_append(struct psnap_yaml_doc *doc,
                                          struct psnap_yaml_node *parent, const char *key,
                                          enum psnap_yaml_kind kind);

/* Fails on the first key of `map` that was there before. O(n log n). */
enum psnap_status psnap_yaml_unique_keys(const struct psnap_yaml_doc *doc,
                                         const struct psnap_yaml_node *map,
                                         struct psnap_error *error);

/* Whether some YAML reader would take this plain text for a number, bool, null or date. */
bool psnap_yaml_looks_typed(const char *text);

#endif
