/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records: a table of fields for each map of a document that is a struct in memory. The table reads
 * the map, and messages have line and column of the wrong value; it writes the map as well. A field
 * that is no plain value is a form, with a reader and a writer of its own. The first failure of a
 * reading is its error, and nothing fails after it: readers go on with zeros and look at `status`
 * where a loop or a pointer depends on it.
 */
#ifndef PSNAP_BASE_RECORD_H
#define PSNAP_BASE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/arena.h"
#include "formats/base/status.h"
#include "formats/base/yaml.h"

/* ---- reading, one value after the other ---- */

struct psnap_field;

struct psnap_reading {
    const struct psnap_yaml_doc *doc;
    struct psnap_arena *arena;   /* of what is kept, */
    struct psnap_arena *scratch; /* and of what is needed only while it is read */
    struct psnap_error *error;
    enum psnap_status status; /* the first failure */
    void *context;
    const struct psnap_field *field; /* that is being read */
    void *outer;                     /* of an item of a list: the record that has the list */
};

/* Fails at a node, with PSNAP_ERROR_VALUE or another code, unless it has failed already. */
#define psnap_read_fail(r, node, ...) psnap_read_fail_as(r, node, PSNAP_ERROR_VALUE, __VA_ARGS__)
void psnap_read_fail_as(struct psnap_reading *r, const struct psnap_yaml_node *node,
                        enum psnap_status code, const char *format, ...) PSNAP_PRINTF(4, 5);
/* Fails when there is no `memory`; whether there is, and nothing has failed. */
bool psnap_read_has(struct psnap_reading *r, const void *memory);
/* Zeroed items in an arena; NULL: out of memory, or failed already. */
void *psnap_read_alloc(struct psnap_reading *r, size_t count, size_t size);
void *psnap_read_scratch(struct psnap_reading *r, size_t count, size_t size);
/* The same at *array, which is the caller's to free; false: NULL. */
bool psnap_read_heap(struct psnap_reading *r, void *array, size_t count, size_t size);

/* A value of a node; 0, "" when it has failed. Texts are the document's, copies the arena's. */
uint64_t psnap_read_u64(struct psnap_reading *r, const struct psnap_yaml_node *node, uint64_t low,
                        uint64_t high);
uint64_t psnap_read_size(struct psnap_reading *r, const struct psnap_yaml_node *node, uint64_t low,
                         uint64_t high);
int64_t psnap_read_i64(struct psnap_reading *r, const struct psnap_yaml_node *node, int64_t low,
                       int64_t high);
double psnap_read_real(struct psnap_reading *r, const struct psnap_yaml_node *node, double low,
                       double high);
const char *psnap_read_text(struct psnap_reading *r, const struct psnap_yaml_node *node);
const char *psnap_read_copy(struct psnap_reading *r, const struct psnap_yaml_node *node);
/* map[key]; NULL: it is missing, or failed already. */
const struct psnap_yaml_node *
psnap_read_require(struct psnap_reading *r, const struct psnap_yaml_node *map, const char *key);
/* Whether the node is of this kind, as it must be, and nothing has failed; without a node false. */
bool psnap_read_is(struct psnap_reading *r, const struct psnap_yaml_node *node,
                   enum psnap_yaml_kind kind, const char *what);
/* The first item of a list, or of a map, which the node must be, and the one after an item; NULL:
 * there is none, or it has failed. */
const struct psnap_yaml_node *psnap_read_list(struct psnap_reading *r,
                                              const struct psnap_yaml_node *node, const char *what);
const struct psnap_yaml_node *psnap_read_map(struct psnap_reading *r,
                                             const struct psnap_yaml_node *node, const char *what);
const struct psnap_yaml_node *psnap_read_next(const struct psnap_reading *r,
                                              const struct psnap_yaml_node *node);
/* Fails unless the node is a map of these keys alone. */
#define psnap_read_keys(r, node, what, ...)                                                        \
    psnap_read_key_list(r, node, what, (const char *const[]){__VA_ARGS__, NULL})
void psnap_read_key_list(struct psnap_reading *r, const struct psnap_yaml_node *node,
                         const char *what, const char *const *keys);

/* ---- tables ---- */

enum psnap_field_kind {
    PSNAP_FIELD_UINT,   /* unsigned, of the member's size, or bool; low to high */
    PSNAP_FIELD_SIZE,   /* the same in bytes, which may be 32K */
    PSNAP_FIELD_INT,    /* int64_t */
    PSNAP_FIELD_REAL,   /* double, low to high */
    PSNAP_FIELD_TEXT,   /* const char *, a copy */
    PSNAP_FIELD_TEXTS,  /* const char *const *, a list with NULL behind it; NULL: none */
    PSNAP_FIELD_LIST,   /* a pointer to structs by a table; `count_at` is the place of how many */
    PSNAP_FIELD_RECORD, /* a struct in the struct, by a table of its own */
    PSNAP_FIELD_FORM    /* by `read` and `write` */
};

enum {
    PSNAP_FIELD_NEEDED = 1, /* it must be there */
    PSNAP_FIELD_ALWAYS = 2, /* it may be missing, but is always written */
    PSNAP_FIELD_LATER = 4,  /* psnap_record_read leaves it to others */
    PSNAP_FIELD_HEAP = 8,   /* a list or text is the owner's to free */
    PSNAP_FIELD_TAGGED = 16 /* of several fields the one whose `tag` a byte at `tag_at` has */
};
enum { PSNAP_FIELDS_MAX = 32 };
#define PSNAP_FIELD_NAN UINT64_MAX

struct psnap_record;

/* The document and the record that are being written. */
struct psnap_writing {
    struct psnap_yaml_doc *doc;
    const void *context;
    struct psnap_yaml_node *map;     /* of the record that is being written, */
    const struct psnap_field *field; /* its field, */
    const void *outer;               /* and, of an item of a list, the record that has the list */
};

struct psnap_field {
    const char *key;
    enum psnap_field_kind kind;
    size_t offset, size; /* of the member */
    uint64_t low, high;
    uint64_t missing; /* the number of a missing one, which is not written; PSNAP_FIELD_NAN */
    unsigned rules;
    const struct psnap_record *record;
    size_t count_at;             /* of a list, a uint32_t */
    enum psnap_yaml_style style; /* likewise */
    size_t tag_at;
    uint8_t tag;
    /* Of a form; they get the whole record. NULL: the key is known, and left to others. */
    void (*read)(struct psnap_reading *r, const struct psnap_yaml_node *node, void *record);
    void (*write)(const struct psnap_writing *w, const void *record);
};

/* The place of a member; of a list's pointer. */
#define PSNAP_AT(type, member) offsetof(type, member), sizeof(((type *)0)->member)
#define PSNAP_AT_LIST(type, member) offsetof(type, member), sizeof(void *)

struct psnap_record {
    const char *what; /* as messages call it */
    const struct psnap_field *fields;
    size_t count;
    enum psnap_yaml_style style;
    size_t size; /* of the struct, for lists */
    /* Compares fields with each other when all of them have been read; NULL: no rule is of two. */
    void (*check)(struct psnap_reading *r, const struct psnap_yaml_node *map, void *record);
};

/* The fields of a table and their number, which the compiler compares with PSNAP_FIELDS_MAX. */
#define PSNAP_FIELDS(fields)                                                                       \
    fields, sizeof(char[sizeof fields / sizeof *fields <= PSNAP_FIELDS_MAX                         \
                            ? (long)(sizeof fields / sizeof *fields)                               \
                            : -1])
#define PSNAP_RECORD(what, fields, style) {what, PSNAP_FIELDS(fields), PSNAP_YAML_##style}

/* Reads a map of these fields alone. A text that is missing is "", or NULL in the heap. */
void psnap_record_read(struct psnap_reading *r, const struct psnap_yaml_node *map,
                       const struct psnap_record *record, void *to);
/* The first of its whole numbers that a map says otherwise than the record has it: *stated there,
 * *has here; NULL: none. */
const struct psnap_yaml_node *psnap_record_differs(struct psnap_reading *r,
                                                   const struct psnap_yaml_node *map,
                                                   const struct psnap_record *record,
                                                   const void *from, uint64_t *stated,
                                                   uint64_t *has);
/* Writes it as a map, in `parent` by this key (NULL in a list), which is returned. */
struct psnap_yaml_node *psnap_record_write(const struct psnap_writing *w,
                                           struct psnap_yaml_node *parent, const char *key,
                                           const struct psnap_record *record, const void *from);

/* A map, or a list, of the field that is being written, in flow style. */
struct psnap_yaml_node *psnap_write_map(const struct psnap_writing *w);
struct psnap_yaml_node *psnap_write_list(const struct psnap_writing *w);

#endif
