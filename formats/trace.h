/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a format implements, and what every source made from a file has in
 * common. Private to formats/.
 */
#ifndef PSNAP_FORMATS_TRACE_H
#define PSNAP_FORMATS_TRACE_H

#include "formats/formats.h"
#include "formats/reader.h"

enum {
    PSNAP_OMISSIONS = 3, /* sorts of them that a format may have */
    PSNAP_PAGE_BITS = 21 /* of the compact layout's pages */
};

/* The first member of every source that reads a trace. */
struct psnap_trace {
    struct psnap_source base;
    const struct psnap_format *format; /* that it was opened as */
    struct psnap_reader *reader;       /* owned */
    bool is_limited;                   /* its end said so */
    uint64_t omitted[PSNAP_OMISSIONS]; /* how much was left out, of each sort */
};

struct psnap_foreign;
struct psnap_records;
struct psnap_scan;
struct psnap_trace_sink;
struct pattern_sink;

enum { PSNAP_BID_EITHER = -1 };

struct psnap_format_ops {
    /*
     * How sure it is, 0 (not mine) to 100, that an input which starts with
     * these `n` bytes is of this format; `whole` when there are no more. PSNAP_BID_EITHER: it may
     * be, and so may it be of one that is not known here.
     * NULL when the format is not readable, or has no mark.
     */
    int (*bid)(const unsigned char *start, size_t n, bool whole);
    /* Owns `reader`, also when it fails. NULL: psnap_foreign_open, if the format is readable. */
    struct psnap_trace *(*open)(const struct psnap_format *format, struct psnap_reader *reader,
                                struct psnap_error *error);
    /* As psnap_trace_skip; NULL: by reading. */
    enum psnap_status (*skip)(struct psnap_source *source, uint64_t count, uint64_t *skipped,
                              struct psnap_error *error);
    /* As psnap_trace_writer_new_timed; NULL, if the format is writable: psnap_trace_sink_new if it
     * has `access`, else pattern_sink_new. */
    struct psnap_sink *(*create)(const struct psnap_format *format, FILE *file,
                                 struct psnap_program *program, const uint64_t *clock,
                                 struct psnap_error *error);

    /* Of psnap_foreign_open (foreign.h): lines, or records. */
    size_t trace_bytes; /* of the format's own struct, all zero at first; 0: it has none */
    /* Reads what comes before the first record; may be NULL. */
    enum psnap_status (*begin)(struct psnap_foreign *trace, struct psnap_error *error);
    /* Turns a line into *n accesses at `out`, which has room for PSNAP_LINE_ACCESSES. On failure
     * the column of the error is that of scan->at. */
    enum psnap_status (*line)(struct psnap_foreign *trace, struct psnap_scan *scan,
                              struct psnap_access *out, size_t *n, struct psnap_error *error);
    size_t record_bytes; /* 1 where they have no fixed size: `records` then gets bytes */
    /* Turns records into accesses, as long as there is room for those of one more. The error of a
     * failure gets the offset of the record. Best made of psnap_records_each. */
    enum psnap_status (*records)(struct psnap_foreign *trace, struct psnap_records *work,
                                 struct psnap_error *error);
    /* Omissions, in the plural: sorts of lines or records that are no access ("flushes"). */
    const char *omits[PSNAP_OMISSIONS];
    /* When the input has ended behind a whole record; may be NULL. */
    enum psnap_status (*ended)(struct psnap_foreign *trace, struct psnap_error *error);

    /* Of psnap_trace_sink_new (trace_sink.h); all return the place behind. */
    size_t sink_bytes;          /* of the format's own struct, all zero at first; 0: it has none */
    char *(*heading)(char *to); /* may be NULL */
    /* Appends what an access turns into; NULL on failure, with `error` filled. */
    char *(*access)(struct psnap_trace_sink *sink, char *to, const struct psnap_access *access,
                    struct psnap_error *error);
    /* Where that is a line of at most 64 bytes of which nothing but the address differs from access
     * to access of a reference: where this stands, in hexadecimal; else 0. */
    unsigned hex_at;
    char *(*end)(struct psnap_trace_sink *sink, char *to); /* may be NULL */

    /* Of pattern_sink_new (pattern_states.h). */
    size_t state_bytes; /* of what is kept of a region or reference, all zero at first */
    void (*take)(void *state, const struct psnap_access *access);
    enum psnap_status (*print)(struct pattern_sink *sink, struct psnap_error *error);
};

/* psnap_trace_open from the second step on: recognises what `reader` reads, which it owns. */
struct psnap_source *psnap_trace_open_reader(struct psnap_reader *reader, const char *format,
                                             struct psnap_error *error);

extern const struct psnap_format psnap_format_pst;
extern const struct psnap_format psnap_format_din;
extern const struct psnap_format psnap_format_xdin;
extern const struct psnap_format psnap_format_dinbin;
extern const struct psnap_format psnap_format_lackey;
extern const struct psnap_format psnap_format_pinatrace;
extern const struct psnap_format psnap_format_csv;
extern const struct psnap_format psnap_format_champsim;
extern const struct psnap_format psnap_format_drmemtrace;
extern const struct psnap_format psnap_format_gem5;

/* Written only, for other people's simulators. */
extern const struct psnap_format psnap_format_ramulator1;
extern const struct psnap_format psnap_format_ramulator2_ls;
extern const struct psnap_format psnap_format_ramulator2_rw;
extern const struct psnap_format psnap_format_ramulator_cpu;
extern const struct psnap_format psnap_format_dramsim3;
extern const struct psnap_format psnap_format_prospero;
extern const struct psnap_format psnap_format_prospero_bin;
extern const struct psnap_format psnap_format_oracle;
extern const struct psnap_format psnap_format_spatter;
extern const struct psnap_format psnap_format_trafficgen;

#endif
