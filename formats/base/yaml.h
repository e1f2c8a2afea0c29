/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * YAML documents as trees whose nodes know their line and column. Profiles,
 * machine files and results are read and written through this; libyaml does
 * the parsing and the emitting and is included by yaml.c alone.
 *
 * Reading is strict: one document, UTF-8, no aliases, no anchors, no tags, no
 * duplicate keys, keys are scalars, at most PSNAP_YAML_DEPTH levels,
 * PSNAP_YAML_NODES nodes and PSNAP_YAML_BYTES bytes; else an error with its
 * place (columns count characters).
 */
#ifndef PSNAP_BASE_YAML_H
#define PSNAP_BASE_YAML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "formats/base/api.h"
#include "formats/base/status.h"

#define PSNAP_YAML_DEPTH 64
#define PSNAP_YAML_NODES 4000000u
#define PSNAP_YAML_BYTES (UINT64_C(256) << 20)

enum psnap_yaml_kind { PSNAP_YAML_SCALAR, PSNAP_YAML_SEQUENCE, PSNAP_YAML_MAP };
enum psnap_yaml_style { PSNAP_YAML_BLOCK, PSNAP_YAML_FLOW };

struct psnap_yaml_doc;

/* Children are linked in order. In a map each child has a key. Read-only to users. */
struct psnap_yaml_node {
    enum psnap_yaml_kind kind;
    enum psnap_yaml_style style; /* how sequences and maps are written */
    bool quoted;                 /* scalar was (is to be) quoted: never a number, null or bool */
    uint32_t src_line, column;   /* 1-based, of the value; 0 for nodes made by hand */
    uint32_t key_line, key_column;
    const char *key;  /* in a map, else NULL */
    const char *text; /* of a scalar, without NUL bytes inside */
    size_t count;     /* children */
    struct psnap_yaml_node *first, *last, *next, *parent;
};

/*
 * Reads one document. `name` is used in errors. NULL on failure, with `error`
 * filled. The document owns its nodes and strings.
 */
PSNAP_API struct psnap_yaml_doc *psnap_yaml_read(FILE *file, const char *name,
                                                 struct psnap_error *error);
PSNAP_API struct psnap_yaml_doc *psnap_yaml_read_text(const char *text, size_t size,
                                                      const char *name, struct psnap_error *error);
PSNAP_API struct psnap_yaml_doc *psnap_yaml_doc_new(const char *name);
PSNAP_API void psnap_yaml_doc_free(struct psnap_yaml_doc *doc);
PSNAP_API struct psnap_yaml_node *psnap_yaml_root(const struct psnap_yaml_doc *doc);
PSNAP_API const char *psnap_yaml_name(const struct psnap_yaml_doc *doc);

/* The child of a map with this key, NULL when there is none (or `map` is NULL or no map). */
PSNAP_API struct psnap_yaml_node *psnap_yaml_get(const struct psnap_yaml_node *map,
                                                 const char *key);

/* The same for a key that has to be there: NULL with `error` filled, at the map's place, if not. */
PSNAP_API struct psnap_yaml_node *psnap_yaml_require(const struct psnap_yaml_doc *doc,
                                                     const struct psnap_yaml_node *map,
                                                     const char *key, struct psnap_error *error);

/*
 * Typed access; on failure the error carries the document's name and the
 * node's line and column, and names the key. Integers are decimal or 0x;
 * reals are finite; sizes also take K, M, G, T (binary).
 */
PSNAP_API enum psnap_status psnap_yaml_u64(const struct psnap_yaml_doc *doc,
                                           const struct psnap_yaml_node *node, uint64_t low,
                                           uint64_t high, uint64_t *value,
                                           struct psnap_error *error);
PSNAP_API enum psnap_status psnap_yaml_i64(const struct psnap_yaml_doc *doc,
                                           const struct psnap_yaml_node *node, int64_t low,
                                           int64_t high, int64_t *value, struct psnap_error *error);
PSNAP_API enum psnap_status psnap_yaml_real(const struct psnap_yaml_doc *doc,
                                            const struct psnap_yaml_node *node, double low,
                                            double high, double *value, struct psnap_error *error);
PSNAP_API enum psnap_status psnap_yaml_size(const struct psnap_yaml_doc *doc,
                                            const struct psnap_yaml_node *node, uint64_t low,
                                            uint64_t high, uint64_t *value,
                                            struct psnap_error *error);
PSNAP_API enum psnap_status psnap_yaml_text(const struct psnap_yaml_doc *doc,
                                            const struct psnap_yaml_node *node, const char **text,
                                            struct psnap_error *error);

/* Fails unless `node` is of `kind`; `what` names it in the message ("loops", "a region"). */
PSNAP_API enum psnap_status psnap_yaml_expect(const struct psnap_yaml_doc *doc,
                                              const struct psnap_yaml_node *node,
                                              enum psnap_yaml_kind kind, const char *what,
                                              struct psnap_error *error);

/* Fails on the first key of `map` that is not in the NULL-terminated list, naming key, place and
 * the nearest known key. */
PSNAP_API enum psnap_status psnap_yaml_known_keys(const struct psnap_yaml_doc *doc,
                                                  const struct psnap_yaml_node *map,
                                                  const char *const *keys,
                                                  struct psnap_error *error);

/* Fails unless `node` is a map of these keys alone: both of the above. */
PSNAP_API enum psnap_status psnap_yaml_expect_keys(const struct psnap_yaml_doc *doc,
                                                   const struct psnap_yaml_node *node,
                                                   const char *what, const char *const *keys,
                                                   struct psnap_error *error);

/* Sets an error about `node`: like psnap_error_set, with document, line and column filled in. */
PSNAP_API enum psnap_status psnap_yaml_fail(const struct psnap_yaml_doc *doc,
                                            const struct psnap_yaml_node *node,
                                            struct psnap_error *error, enum psnap_status code,
                                            const char *format, ...) PSNAP_PRINTF(5, 6);

/*
 * Building. `parent` NULL makes the root; `key` NULL in sequences. Strings are
 * copied. Out of memory: NULL, and the document remembers it, so that a
 * builder may ignore the results (NULL parents are then legal) and
 * psnap_yaml_write reports it.
 */
PSNAP_API struct psnap_yaml_node *psnap_yaml_add_map(struct psnap_yaml_doc *doc,
                                                     struct psnap_yaml_node *parent,
                                                     const char *key, enum psnap_yaml_style style);
PSNAP_API struct psnap_yaml_node *psnap_yaml_add_sequence(struct psnap_yaml_doc *doc,
                                                          struct psnap_yaml_node *parent,
                                                          const char *key,
                                                          enum psnap_yaml_style style);
PSNAP_API struct psnap_yaml_node *psnap_yaml_add_text(struct psnap_yaml_doc *doc,
                                                      struct psnap_yaml_node *parent,
                                                      const char *key, const char *text);
PSNAP_API struct psnap_yaml_node *psnap_yaml_add_u64(struct psnap_yaml_doc *doc,
                                                     struct psnap_yaml_node *parent,
                                                     const char *key, uint64_t value);
PSNAP_API struct psnap_yaml_node *psnap_yaml_add_i64(struct psnap_yaml_doc *doc,
                                                     struct psnap_yaml_node *parent,
                                                     const char *key, int64_t value);
/* Written with the fewest digits that read back to the same double. */
PSNAP_API struct psnap_yaml_node *psnap_yaml_add_real(struct psnap_yaml_doc *doc,
                                                      struct psnap_yaml_node *parent,
                                                      const char *key, double value);

/*
 * Changes of a document that was read; what is put in has the place of what it is put for, or in.
 * False, NULL: out of memory, which the document remembers.
 */
/* The node has the value of another document's node, which is copied; its key stays. */
PSNAP_API bool psnap_yaml_assign(struct psnap_yaml_doc *doc, struct psnap_yaml_node *node,
                                 const struct psnap_yaml_node *value);
/* A key more in a map, an empty scalar. */
PSNAP_API struct psnap_yaml_node *psnap_yaml_add_key(struct psnap_yaml_doc *doc,
                                                     struct psnap_yaml_node *map, const char *key);
/* Takes a node, not the root, out of its map or sequence. */
PSNAP_API void psnap_yaml_remove(struct psnap_yaml_node *node);

/* Writes the document; text that would read as something else is quoted. */
PSNAP_API enum psnap_status psnap_yaml_write(const struct psnap_yaml_doc *doc, FILE *file,
                                             struct psnap_error *error);

/*
 * The same of a document too large to be had at once: its empty sequence `list` gets `count`
 * items one by one, while it is written. `item` makes the next one, as the root of an empty
 * document.
 */
PSNAP_API enum psnap_status
psnap_yaml_write_list(const struct psnap_yaml_doc *doc, const struct psnap_yaml_node *list,
                      void (*item)(void *context, struct psnap_yaml_doc *doc), void *context,
                      size_t count, FILE *file, struct psnap_error *error);

#endif
