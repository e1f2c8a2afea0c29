/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records are made in a buffer that has room for one access more than it is meant to hold, so that
 * no encoder asks for room.
 */
#include "formats/record_sink.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static enum psnap_status write_records(struct psnap_record_sink *sink, struct psnap_error *error)
{
    const size_t n = sink->used;

    sink->used = 0;
    if (n > 0 && fwrite(sink->data, 1, n, sink->file) != n)
        return psnap_error_system(error, errno, "cannot write");
    return PSNAP_OK;
}

static enum psnap_status record_put(struct psnap_sink *self, const struct psnap_access *block,
                                    size_t n, struct psnap_error *error)
{
    struct psnap_record_sink *sink = (struct psnap_record_sink *)self;
    enum psnap_status status = PSNAP_OK;

    for (size_t i = 0; i < n && !status; i++) {
        unsigned char *to = sink->data + sink->used;

        status = sink->access(sink, &block[i], &to, error);
        if (status)
            break;
        sink->accesses++;
        sink->used = (size_t)(to - sink->data);
        if (sink->used >= PSNAP_RECORD_OUT_BYTES)
            status = write_records(sink, error);
    }
    return status;
}

static enum psnap_status record_finish(struct psnap_sink *self, struct psnap_error *error)
{
    struct psnap_record_sink *sink = (struct psnap_record_sink *)self;
    unsigned char *to = sink->data + sink->used;
    enum psnap_status status = sink->trailer ? sink->trailer(sink, &to, error) : PSNAP_OK;

    sink->used = (size_t)(to - sink->data);
    if (!status)
        status = write_records(sink, error);
    if (!status && fflush(sink->file) != 0)
        status = psnap_error_system(error, errno, "cannot write");
    return status;
}

static void record_free(struct psnap_sink *self)
{
    struct psnap_record_sink *sink = (struct psnap_record_sink *)self;

    if (sink->release)
        sink->release(sink);
    free(sink);
}

struct psnap_sink *psnap_record_sink_new(struct psnap_record_sink *sink, FILE *file,
                                         const void *heading, size_t heading_bytes,
                                         struct psnap_error *error)
{
    static const struct psnap_sink_ops ops = {
        .put = record_put, .finish = record_finish, .free = record_free};

    if (!sink) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    sink->base.ops = &ops;
    sink->file = file;
    sink->accesses = 0;
    sink->used = heading_bytes;
    if (heading_bytes)
        memcpy(sink->data, heading, heading_bytes);
    return &sink->base;
}

enum psnap_status psnap_record_sink_refuse(const struct psnap_record_sink *sink,
                                           const struct psnap_access *access, const char *why,
                                           struct psnap_error *error)
{
    static const char *const kinds[] = {"a load", "a store", "an atomic"};

    return psnap_error_set(error, PSNAP_ERROR_VALUE,
                           "access %" PRIu64 ", %s of %u byte%s at 0x%" PRIx64
                           ", cannot be written: %s",
                           sink->accesses + 1, kinds[access->kind], access->size,
                           access->size == 1 ? "" : "s", access->address, why);
}
