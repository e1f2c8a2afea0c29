/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A field of a profile by its path. Ids have dots in them (`f:12.rest`), so of several items the
 * one with the longest name that the path goes on with is meant.
 */
#include "profile/edit/cmd_edit.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/text.h"

/* How an item is named in a path: its key, or in a list its id, the number of a reference, or the
 * object of a reuse histogram. */
static const char *name_of(const struct psnap_yaml_node *node)
{
    static const char *const ids[] = {"id", "ref", "object"};
    const struct psnap_yaml_node *id = NULL;

    if (node->key)
        return node->key;
    for (size_t i = 0; i < sizeof ids / sizeof ids[0] && !id; i++)
        id = psnap_yaml_get(node, ids[i]);
    return id && id->kind == PSNAP_YAML_SCALAR ? id->text : NULL;
}

/* What a path goes on behind a name; NULL: it does not begin with it. */
static const char *behind(const char *path, const char *name)
{
    const size_t length = strlen(name);

    if (strncmp(path, name, length) != 0 || (path[length] && path[length] != '.'))
        return NULL;
    return path + length + (path[length] == '.');
}

/* The item that the path begins with, which goes on at *rest. */
static struct psnap_yaml_node *find_item(const struct psnap_yaml_node *of, const char *path,
                                         const char **rest)
{
    struct psnap_yaml_node *found = NULL;

    for (struct psnap_yaml_node *item = of->first; item; item = item->next) {
        const char *name = name_of(item), *after = name ? behind(path, name) : NULL;
        if (after && (!found || after > *rest)) {
            found = item;
            *rest = after;
        }
    }
    if (!found && of->kind == PSNAP_YAML_SEQUENCE && *path >= '0' && *path <= '9') {
        char *end;
        unsigned long number = strtoul(path, &end, 10);
        if (*end && *end != '.')
            return NULL;
        *rest = end + (*end == '.');
        for (found = of->first; found && number; number--)
            found = found->next;
    }
    return found;
}

/* The first part of a loop of the source that a path begins with, and *source; NULL: it is none. */
static const char *part_of(const struct psnap_yaml_node *of, const char *path, const char **source)
{
    for (const struct psnap_yaml_node *item = of->first; item; item = item->next) {
        const struct psnap_yaml_node *whole = psnap_yaml_get(item, "part_of");
        if (whole && whole->kind == PSNAP_YAML_SCALAR && behind(path, whole->text)) {
            *source = whole->text;
            return name_of(item);
        }
    }
    return NULL;
}

static enum psnap_status not_there(const struct psnap_yaml_doc *doc,
                                   const struct psnap_yaml_node *of, const char *path,
                                   struct psnap_error *error)
{
    const char *names[64], *nearest, *source, *part = part_of(of, path, &source);
    char name[128];
    size_t count = 0;

    if (part)
        return psnap_yaml_fail(doc, of, error, PSNAP_ERROR_VALUE,
                               "'%.100s' is in parts, which have the fields: '%.100s' is one",
                               source, part);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(path, "."), path);
    for (const struct psnap_yaml_node *item = of->first; item && count < 64; item = item->next)
        names[count++] = name_of(item);
    nearest = psnap_text_nearest(name, names, count);
    return psnap_yaml_fail(
        doc, of, error, PSNAP_ERROR_VALUE, "there is no '%.100s' in this%s%.100s%s", path,
        nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

struct psnap_yaml_node *edit_find_node(struct psnap_yaml_doc *doc, const char *path, bool makes,
                                       struct psnap_error *error)
{
    struct psnap_yaml_node *node = psnap_yaml_root(doc), *item;

    while (*path) {
        const char *rest = path;
        item = find_item(node, path, &rest);
        if (!item && makes && node->kind == PSNAP_YAML_MAP && !strchr(path, '.')) {
            item = psnap_yaml_add_key(doc, node, path);
            rest = "";
            if (!item)
                psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        } else if (!item)
            not_there(doc, node, path, error);
        if (!item)
            return NULL;
        node = item;
        path = rest;
    }
    return node;
}

enum psnap_status edit_set(struct psnap_yaml_doc *doc, const char *assignment,
                           struct psnap_error *error)
{
    const char *equals = strchr(assignment, '=');
    struct psnap_yaml_doc *value;
    struct psnap_yaml_node *node;
    char path[1024];
    bool is_done;

    if (!equals || equals == assignment || equals - assignment >= (ptrdiff_t)sizeof path)
        return psnap_error_set(error, PSNAP_ERROR_USAGE, "PATH=VALUE is wanted, not '%.100s'",
                               assignment);
    snprintf(path, sizeof path, "%.*s", (int)(equals - assignment), assignment);
    node = edit_find_node(doc, path, equals[1] != '\0', error);
    if (!node)
        return PSNAP_ERROR_VALUE;
    if (!equals[1]) {
        psnap_yaml_remove(node);
        return PSNAP_OK;
    }
    value = psnap_yaml_read_text(equals + 1, strlen(equals + 1), assignment, error);
    if (!value)
        return error->code;
    is_done = psnap_yaml_assign(doc, node, psnap_yaml_root(value));
    psnap_yaml_doc_free(value);
    return is_done ? PSNAP_OK : psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
}
