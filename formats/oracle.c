/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libCacheSim's oracleGeneral, written only: 24 bytes for each request, lowest bytes first,
 *
 *     0  u32 time     4  u64 object     12  u32 size     16  i64 next
 *
 * Objects are cache lines of 64 bytes: an access is a request for each line it touches. `next` is
 * the number of the next request of the same line, the first of the file being 1, or -1, as
 * libCacheSim's own converter has it; it needs the future. So lines wait in a temporary file until
 * the stream has ended, which is then mapped: backwards, with a table of where each line comes
 * next, the numbers of the next requests are put behind the lines; then the records are written.
 * Per request the file has 16 bytes; memory is taken for each different line (up to 64 bytes), not
 * for requests. A time is a request, up to 2^32 - 1, where it stays.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "formats/base/map.h"
#include "formats/record_numbers.h"
#include "formats/trace.h"

enum { LINE_BITS = 6, LINE_BYTES = 1 << LINE_BITS, RECORD = 24 };

struct oracle {
    struct psnap_sink base;
    FILE *file;
    FILE *spool; /* NULL: not there yet */
    uint64_t count;
};

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

static enum psnap_status oracle_put(struct psnap_sink *self, const struct psnap_access *block,
                                    size_t n, struct psnap_error *error)
{
    struct oracle *oracle = (struct oracle *)self;

    if (!oracle->spool && !open_spool(oracle))
        return spool_failed(error);
    errno = 0; /* where the file is short it stays so */
    for (size_t i = 0; i < n; i++) {
        const uint64_t lines[2] = {block[i].address >> LINE_BITS,
                                   (block[i].address + block[i].size - 1) >> LINE_BITS};
        const size_t touched = lines[0] == lines[1] ? 1 : 2;

        if (fwrite(lines, sizeof *lines, touched, oracle->spool) != touched)
            return spool_failed(error);
        oracle->count += touched;
    }
    return PSNAP_OK;
}

/* Backwards: the numbers of the next requests, 0 for none. */
static bool look_ahead(const uint64_t *lines, uint64_t *nexts, uint64_t count)
{
    struct psnap_map places = {0}; /* where each line comes next */
    bool has_room = true;

    for (uint64_t i = count; i-- > 0 && has_room;) {
        uint64_t *place = psnap_map_put(&places, lines[i]);

        has_room = place != NULL;
        if (has_room) {
            nexts[i] = *place;
            *place = i + 1;
        }
    }
    free(places.slots);
    return has_room;
}

static enum psnap_status write_records(struct oracle *oracle, const uint64_t *lines,
                                       const uint64_t *nexts, struct psnap_error *error)
{
    for (uint64_t i = 0; i < oracle->count; i++) {
        unsigned char record[RECORD];

        psnap_record_put_u32(record, i < UINT32_MAX ? (uint32_t)i : UINT32_MAX);
        psnap_record_put_u64(record + 4, lines[i]);
        psnap_record_put_u32(record + 12, LINE_BYTES);
        psnap_record_put_u64(record + 16, nexts[i] ? nexts[i] : UINT64_MAX);
        if (fwrite(record, RECORD, 1, oracle->file) != 1)
            return psnap_error_system(error, errno, "cannot write");
    }
    return fflush(oracle->file) == 0 ? PSNAP_OK : psnap_error_system(error, errno, "cannot write");
}

static enum psnap_status oracle_finish(struct psnap_sink *self, struct psnap_error *error)
{
    struct oracle *oracle = (struct oracle *)self;
    const size_t bytes = (size_t)oracle->count * 2 * sizeof(uint64_t);
    enum psnap_status status;
    uint64_t *lines;

    if (!oracle->count)
        return write_records(oracle, NULL, NULL, error);
    if (fflush(oracle->spool) != 0 ||
        (errno = posix_fallocate(fileno(oracle->spool), 0, (off_t)bytes)) != 0)
        return spool_failed(error);
    lines = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(oracle->spool), 0);
    if (lines == MAP_FAILED)
        return spool_failed(error);
    status = look_ahead(lines, lines + oracle->count, oracle->count)
                 ? write_records(oracle, lines, lines + oracle->count, error)
                 : psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for lines");
    munmap(lines, bytes);
    return status;
}

static void oracle_free(struct psnap_sink *self)
{
    struct oracle *oracle = (struct oracle *)self;

    if (oracle->spool)
        fclose(oracle->spool);
    free(oracle);
}

static struct psnap_sink *oracle_create(const struct psnap_format *format, FILE *file,
                                        struct psnap_program *program, const uint64_t *clock,
                                        struct psnap_error *error)
{
    static const struct psnap_sink_ops ops = {
        .put = oracle_put, .finish = oracle_finish, .free = oracle_free};
    struct oracle *oracle = calloc(1, sizeof *oracle);

    (void)format, (void)program, (void)clock;
    if (!oracle) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    oracle->base.ops = &ops;
    oracle->file = file;
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
