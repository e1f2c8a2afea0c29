/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libCacheSim's oracleGeneral, written only: 24 bytes for each request, lowest bytes first,
 *
 *     0  u32 time     4  u64 object     12  u32 size     16  i64 next
 *
 * Objects are cache lines of 64 bytes: an access is a request for each line it touches. `next` is
 * the number of the next request of the same line, the first of the file being 1, or -1, as
 * libCacheSim's own converter has it; it needs the future. So lines wait in a temporary file until
 * the stream has ended; it is read backwards, with a table of where each line comes next, which
 * puts the numbers of the next requests behind the lines in that file; then both are read forwards
 * and the records written. Per request the file has 16 bytes; memory is taken for each different
 * line (up to 64 bytes), not for requests. A time is a request, up to 2^32 - 1, where it stays.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "formats/base/map.h"
#include "formats/record_numbers.h"
#include "formats/trace.h"

enum { LINE_BITS = 6, LINE_BYTES = 1 << LINE_BITS, RECORD = 24, PIECE = 8192 };

struct oracle {
    struct psnap_sink base;
    FILE *file;
    FILE *spool; /* NULL: not there yet */
    uint64_t written;
    size_t used;
    struct psnap_map places; /* where each line comes next */
    uint64_t lines[PIECE], nexts[PIECE];
    unsigned char records[PIECE * RECORD];
};

/* ----------------------------------------------------------- the temporary file */

static enum psnap_status spool_failed(struct psnap_error *error)
{
    return psnap_error_system(error, errno ? errno : EIO,
                              "cannot use a temporary file (TMPDIR names the folder)");
}

/* False, with errno set: there is none. */
static bool open_spool(struct oracle *oracle)
{
    const char *folder = getenv("TMPDIR");
    char path[4096];
    int fd, reason;

    snprintf(path, sizeof path, "%.4000s/psnap-XXXXXX", folder && *folder ? folder : "/tmp");
    fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0)
        return false;
    unlink(path);
    oracle->spool = fdopen(fd, "r+");
    reason = errno;
    if (!oracle->spool)
        close(fd);
    errno = reason;
    return oracle->spool;
}

/* All of `n` numbers at place `at` of the file, to it or from it. */
static enum psnap_status move(struct oracle *oracle, uint64_t *numbers, size_t n, uint64_t at,
                              bool in, struct psnap_error *error)
{
    size_t done;

    if ((!oracle->spool && !open_spool(oracle)) ||
        fseeko(oracle->spool, (off_t)(at * sizeof *numbers), SEEK_SET) != 0)
        return spool_failed(error);
    errno = 0; /* where the file is short it stays so */
    done = in ? fread(numbers, sizeof *numbers, n, oracle->spool)
              : fwrite(numbers, sizeof *numbers, n, oracle->spool);
    return done == n ? PSNAP_OK : spool_failed(error);
}

/* ---------------------------------------------------------------- three passes */

static enum psnap_status keep_lines(struct oracle *oracle, struct psnap_error *error)
{
    const enum psnap_status status =
        move(oracle, oracle->lines, oracle->used, oracle->written, false, error);

    oracle->written += oracle->used;
    oracle->used = 0;
    return status;
}

static enum psnap_status oracle_put(struct psnap_sink *self, const struct psnap_access *block,
                                    size_t n, struct psnap_error *error)
{
    struct oracle *oracle = (struct oracle *)self;

    for (size_t i = 0; i < n; i++) {
        const uint64_t last = (block[i].address + block[i].size - 1) >> LINE_BITS;
        uint64_t line = block[i].address >> LINE_BITS;

        if (oracle->used + 2 > PIECE) {
            const enum psnap_status status = keep_lines(oracle, error);
            if (status)
                return status;
        }
        oracle->lines[oracle->used++] = line;
        if (line != last)
            oracle->lines[oracle->used++] = last;
    }
    return PSNAP_OK;
}

/* Backwards: behind the lines, the numbers of their next requests. */
static enum psnap_status look_ahead(struct oracle *oracle, struct psnap_error *error)
{
    const uint64_t count = oracle->written;
    enum psnap_status status = PSNAP_OK;

    for (uint64_t end = count; end && !status;) {
        const size_t n = end % PIECE ? (size_t)(end % PIECE) : PIECE;
        end -= n;
        status = move(oracle, oracle->lines, n, end, true, error);
        for (size_t i = n; i-- > 0 && !status;) {
            uint64_t *place = psnap_map_put(&oracle->places, oracle->lines[i]);
            if (!place)
                return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for lines");
            oracle->nexts[i] = *place; /* 0: none */
            *place = end + i + 1;
        }
        if (!status)
            status = move(oracle, oracle->nexts, n, count + end, false, error);
    }
    free(oracle->places.slots);
    oracle->places = (struct psnap_map){0};
    return status;
}

static enum psnap_status write_records(struct oracle *oracle, struct psnap_error *error)
{
    const uint64_t count = oracle->written;
    enum psnap_status status = PSNAP_OK;

    for (uint64_t begin = 0; begin < count; begin += PIECE) {
        const size_t n = count - begin < PIECE ? (size_t)(count - begin) : PIECE;
        status = move(oracle, oracle->lines, n, begin, true, error);
        if (!status)
            status = move(oracle, oracle->nexts, n, count + begin, true, error);
        if (status)
            return status;
        for (size_t i = 0; i < n; i++) {
            unsigned char *record = oracle->records + i * RECORD;
            const uint64_t time = begin + i < UINT32_MAX ? begin + i : UINT32_MAX;
            psnap_record_put_u32(record, (uint32_t)time);
            psnap_record_put_u64(record + 4, oracle->lines[i]);
            psnap_record_put_u32(record + 12, LINE_BYTES);
            psnap_record_put_u64(record + 16, oracle->nexts[i] ? oracle->nexts[i] : UINT64_MAX);
        }
        if (fwrite(oracle->records, RECORD, n, oracle->file) != n)
            return psnap_error_system(error, errno, "cannot write");
    }
    if (fflush(oracle->file) != 0)
        return psnap_error_system(error, errno, "cannot write");
    return PSNAP_OK;
}

static enum psnap_status oracle_finish(struct psnap_sink *self, struct psnap_error *error)
{
    struct oracle *oracle = (struct oracle *)self;
    enum psnap_status status = oracle->used ? keep_lines(oracle, error) : PSNAP_OK;

    if (!status)
        status = look_ahead(oracle, error);
    return status ? status : write_records(oracle, error);
}

static void oracle_free(struct psnap_sink *self)
{
    struct oracle *oracle = (struct oracle *)self;

    if (oracle->spool)
        fclose(oracle->spool);
    free(oracle->places.slots);
    free(oracle);
}

static struct psnap_sink *oracle_create(const struct psnap_format *format, FILE *file,
                                        struct psnap_program *program, const uint64_t *clock,
                                        struct psnap_error *error)
{
    static const struct psnap_sink_ops ops = {
        .put = oracle_put, .finish = oracle_finish, .free = oracle_free};
    struct oracle *oracle = malloc(sizeof *oracle);

    (void)format, (void)program, (void)clock;
    if (!oracle) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    oracle->base.ops = &ops;
    oracle->file = file;
    oracle->spool = NULL;
    oracle->written = 0;
    oracle->used = 0;
    oracle->places = (struct psnap_map){0};
    return &oracle->base;
}

const struct psnap_format psnap_format_oracle = {
    .name = "oracle",
    .summary = "libCacheSim's oracleGeneral",
    .loses = "size and address within a line, load or store, thread, ref, program",
    .writable = true,
    .no_fifo = "libCacheSim maps its whole input",
    .ops = &(const struct psnap_format_ops){.create = oracle_create},
};
