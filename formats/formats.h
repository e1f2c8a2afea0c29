/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Trace formats in and out. There is one const descriptor per format, in a
 * file of its own; a trace becomes a source whatever its format, and every
 * writer is a sink. Input is recognised by its first bytes, never by its name.
 */
#ifndef PSNAP_FORMATS_H
#define PSNAP_FORMATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "formats/base/api.h"
#include "formats/base/status.h"
#include "formats/base/stream.h"

struct psnap_format_ops; /* private: bid, open, create */
struct psnap_compressor;

struct psnap_format {
    const char *name;    /* "pst" */
    const char *summary; /* one line, without the name */
    const char *loses;   /* what a written file does not keep: "thread, ref"; "" for nothing */
    bool readable;
    bool writable;
    bool is_text;        /* a terminal can show it */
    bool is_memory_side; /* it feeds a simulator of memory, which wants what the caches before that
                            miss and write back, not what a processor accesses */
    bool is_physical;    /* its addresses are those of a memory, which has a few GiB */
    const char *no_fifo; /* why what reads it cannot read a FIFO; NULL: it can */
    const struct psnap_format_ops *ops;
};

/* The format of this name (NULL: no such format), and the i-th (NULL: past the last). */
PSNAP_API const struct psnap_format *psnap_format_find(const char *name);
PSNAP_API const struct psnap_format *psnap_format_at(size_t i);
/* As psnap_format_find; NULL with `error` filled, which names the nearest one there is. */
PSNAP_API const struct psnap_format *psnap_format_named(const char *name,
                                                        struct psnap_error *error);

/* The format whose name the file name ends in ("t.din", "t.din.gz": din); NULL when it ends in no
 * such. */
PSNAP_API const struct psnap_format *psnap_format_of_path(const char *path);

/* Checks that a trace in a format may be written to `path` ("-": stdout, which may be any pipe);
 * PSNAP_ERROR_VALUE: what reads the format cannot read the FIFO that this is, PSNAP_ERROR_USAGE:
 * its name promises a compression that is read only. */
PSNAP_API enum psnap_status psnap_format_check_path(const struct psnap_format *format,
                                                    const char *path, struct psnap_error *error);

#define PSNAP_BID_BYTES 4096u /* how much of an input recognition is shown, if there is so much */

/* The format of a trace that starts with these `n` bytes (readable one beyond), NULL: none that is
 * known. `whole`: the input ends here. */
PSNAP_API const struct psnap_format *psnap_format_recognise(const void *start, size_t n,
                                                            bool whole);

/*
 * Opens a trace, which may be compressed (gzip, xz, zstd, bzip2, lz4: by its first bytes); "-" is
 * stdin, through the FILE of that name (a byte looked at may be put back with ungetc before).
 * `format` NULL recognises it. The source owns the file and a program, which holds at least one
 * loop once an access has been read, and grows while the stream is read. NULL on failure, with
 * `error` filled: an empty input and an unknown format are errors. Errors of the source name the
 * file and the line and column, or the offset, in the decompressed data; damage to compressed data
 * has its offset in the file.
 *
 * A .pst that ends too early delivers every access of its whole chunks, then
 * fails with PSNAP_ERROR_TRUNCATED.
 */
PSNAP_API struct psnap_source *psnap_trace_open(const char *path, const char *format,
                                                struct psnap_error *error);

/* How many accesses a .pst holds, by the headers of its frames; what is damaged or cut off ends the
 * count. 0 of another file, or one that cannot be read at any place (a pipe). */
PSNAP_API uint64_t psnap_pst_count(int fd);

/* The same of a file that is open already, a pipe for one, at its present position; `name` is used
 * in errors. The source closes it (unless it is stdin), also when this fails. */
PSNAP_API struct psnap_source *psnap_trace_open_file(FILE *file, const char *name,
                                                     const char *format, struct psnap_error *error);

/* The i-th sort of omissions of a source that psnap_trace_open made, in the plural ("instruction
 * fetches"), and how many its input has had so far; NULL: there are no more sorts. */
PSNAP_API const char *psnap_trace_omitted(const struct psnap_source *source, size_t i,
                                          uint64_t *count);

/* Of a source that psnap_trace_open made: its format, and the bytes of input read so far,
 * compressed as they are. */
PSNAP_API const struct psnap_format *psnap_trace_format(const struct psnap_source *source);
PSNAP_API uint64_t psnap_trace_bytes(const struct psnap_source *source);
/* Whether the trace, read to its end, says that it was ended by a limit of its size. */
PSNAP_API bool psnap_trace_is_limited(const struct psnap_source *source);

/*
 * Passes over the next `count` accesses of a source that psnap_trace_open
 * made; fewer when the stream ends before, which is no error: *skipped (may
 * be NULL) says how many. In a .pst whole chunks are passed over without
 * decoding, while the tables they bring still arrive: with UINT64_MAX it
 * checks the file and completes the program.
 */
PSNAP_API enum psnap_status psnap_trace_skip(struct psnap_source *source, uint64_t count,
                                             uint64_t *skipped, struct psnap_error *error);

/*
 * A sink that writes to `file`, which stays the caller's and must outlive it,
 * as must `program`: the source's, whose tables may grow between calls of put.
 * psnap_sink_finish writes the trailer and flushes; without it a .pst is
 * truncated. NULL on failure, with `error` filled.
 */
PSNAP_API struct psnap_sink *psnap_trace_writer_new(const char *format, FILE *file,
                                                    struct psnap_program *program,
                                                    struct psnap_error *error);

/*
 * The same of a stream that may be what is left of a program's: `clock` then says, whenever
 * accesses are put, how many the program made before these, for the formats that have times. It
 * outlives the sink; NULL: the stream is all of it, an access is a unit of time.
 */
PSNAP_API struct psnap_sink *psnap_trace_writer_new_timed(const char *format, const uint64_t *clock,
                                                          FILE *file, struct psnap_program *program,
                                                          struct psnap_error *error);

/* How a file of this name is to be compressed: ".gz", ".xz", ".zst", ".bz2"; NULL: it is not. */
PSNAP_API const char *psnap_compression_of_path(const char *path);

/*
 * A FILE whose bytes go to `to`, which is the caller's, compressed in such a way. The end flushes
 * all of them unless `is_whole` is false: then a reader is to notice that something is missing. The
 * compressor is freed either way; NULL is legal.
 */
PSNAP_API struct psnap_compressor *psnap_compressor_new(FILE *to, const char *compression,
                                                        struct psnap_error *error);
PSNAP_API FILE *psnap_compressor_file(struct psnap_compressor *compressor);
PSNAP_API enum psnap_status psnap_compressor_end(struct psnap_compressor *compressor, bool is_whole,
                                                 struct psnap_error *error);

/* Addresses of a memory of a few GiB. */
struct psnap_compact {
    uint64_t base;              /* of its first page */
    uint64_t pages, page_bytes; /* of pages, so far; of a page, 0: none were placed */
};

/* A sink that puts accesses on to another one, with pages of their addresses one behind the other
 * from the base on, in the order of their first use; what crosses pages is split. It does not own
 * `to`; `report` outlives it. NULL with `error` filled: out of memory. */
PSNAP_API struct psnap_sink *psnap_compact_new(struct psnap_sink *to, struct psnap_compact *report,
                                               struct psnap_error *error);

/*
 * A sink of a .pst that has at most limit->max_bytes (or the 59 of an empty
 * one, if that is more): what comes after the last chunk that fits is
 * swallowed. `limit` must outlive the sink, which says in it when that happened
 * and how many accesses the trace has then.
 */
struct psnap_trace_limit {
    uint64_t max_bytes; /* 0: none */
    uint64_t accesses;
    bool is_reached;
};

PSNAP_API struct psnap_sink *psnap_trace_writer_new_limited(FILE *file,
                                                            struct psnap_program *program,
                                                            struct psnap_trace_limit *limit,
                                                            struct psnap_error *error);

#endif
