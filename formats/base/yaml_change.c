/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Changes of a document that was read: a value for another one, a key more, a node less. What is
 * put in has the place of what it stands for, so that errors still name lines of the document.
 */
#include "formats/base/yaml_tree.h"

#include <string.h>

#include "formats/base/arena.h"

static const char *copy_text(struct psnap_yaml_doc *doc, const char *text)
{
    const char *copy = text ? psnap_arena_strndup(doc->arena, text, strlen(text)) : NULL;

    doc->out_of_memory |= text && !copy;
    return copy;
}

/* Children of `from` as children of `to`; a YAML document is 64 levels deep at most. */
static bool copy_children(struct psnap_yaml_doc *doc, struct psnap_yaml_node *to,
                          const struct psnap_yaml_node *from)
{
    for (const struct psnap_yaml_node *child = from->first; child; child = child->next) {
        const char *key = copy_text(doc, child->key);
        struct psnap_yaml_node *made = psnap_yaml_append(doc, to, key, child->kind);
        if (!made || doc->out_of_memory)
            return false;
        made->style = child->style;
        made->quoted = child->quoted;
        made->text = copy_text(doc, child->text);
        made->src_line = made->key_line = to->src_line;
        made->column = made->key_column = to->column;
        if (!copy_children(doc, made, child))
            return false;
    }
    return !doc->out_of_memory;
}

bool psnap_yaml_assign(struct psnap_yaml_doc *doc, struct psnap_yaml_node *node,
                       const struct psnap_yaml_node *value)
{
    node->kind = value->kind;
    node->style = value->style;
    node->quoted = value->quoted;
    node->text = copy_text(doc, value->text);
    node->first = node->last = NULL;
    node->count = 0;
    return copy_children(doc, node, value);
}

struct psnap_yaml_node *psnap_yaml_add_key(struct psnap_yaml_doc *doc, struct psnap_yaml_node *map,
                                           const char *key)
{
    const char *copy = copy_text(doc, key);
    struct psnap_yaml_node *node =
        copy ? psnap_yaml_append(doc, map, copy, PSNAP_YAML_SCALAR) : NULL;

    if (node) {
        node->src_line = node->key_line = map->src_line;
        node->column = node->key_column = map->column;
    }
    return node;
}

void psnap_yaml_remove(struct psnap_yaml_node *node)
{
    struct psnap_yaml_node *parent = node->parent, *before = NULL;

    for (struct psnap_yaml_node *child = parent->first; child != node; child = child->next)
        before = child;
    if (before)
        before->next = node->next;
    else
        parent->first = node->next;
    if (parent->last == node)
        parent->last = before;
    parent->count--;
}
