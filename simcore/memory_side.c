/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a machine's last level asks of memory, as a stream of its own: for simulators of memories.
 * The machine is simulated access by access (detail.h), which tells of every read and write as it
 * comes; they are put on one by one, so that the count of the program's accesses before them, which
 * serves as their time, is true of each.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "simcore/detail.h"
#include "simcore/simcore.h"

struct memory_side {
    struct psnap_sink base;
    struct detail *detail;
    struct psnap_sink *to;
    struct psnap_memory_side *side;
    const struct psnap_access *block; /* in hand, */
    uint64_t before;                  /* and the accesses before it */
    enum psnap_status status;         /* of what was put on; the first failure stays */
    struct psnap_error error;
};

static void put_on(void *context, size_t access, uint64_t address, uint64_t bytes, bool is_write)
{
    struct memory_side *self = context;
    struct psnap_access piece = self->block[access];

    if (self->status)
        return;
    self->side->accesses = self->before + access;
    piece.kind = is_write ? PSNAP_STORE : PSNAP_LOAD;
    *(is_write ? &self->side->writes : &self->side->reads) += 1;
    *(is_write ? &self->side->write_bytes : &self->side->read_bytes) += bytes;
    for (uint64_t done = 0; done < bytes && !self->status; done += piece.size) {
        const uint64_t left = bytes - done;
        piece.address = address + done;
        piece.size = left < PSNAP_ACCESS_SIZE_MAX ? (uint8_t)left : PSNAP_ACCESS_SIZE_MAX;
        self->status = psnap_sink_put(self->to, &piece, 1, &self->error);
    }
}

static enum psnap_status memory_side_put(struct psnap_sink *sink, const struct psnap_access *block,
                                         size_t n, struct psnap_error *error)
{
    struct memory_side *self = (struct memory_side *)sink;

    for (size_t at = 0; at < n; at += HIERARCHY_BLOCK) {
        const size_t part = n - at < HIERARCHY_BLOCK ? n - at : HIERARCHY_BLOCK;

        for (size_t i = at; i < at + part; i++)
            if (block[i].kind > PSNAP_ATOMIC || block[i].size < 1 ||
                block[i].size > PSNAP_ACCESS_SIZE_MAX)
                return psnap_error_set(error, PSNAP_ERROR_VALUE,
                                       "access %" PRIu64
                                       " of the stream makes no sense: kind %u, %u bytes",
                                       self->before + (i - at), block[i].kind, block[i].size);
        self->block = block + at;
        if (!detail_run(self->detail, self->block, part))
            return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for lines");
        if (self->status) {
            if (error)
                *error = self->error;
            return self->status;
        }
        self->before += part;
        self->side->accesses = self->before;
    }
    return PSNAP_OK;
}

static enum psnap_status memory_side_finish(struct psnap_sink *sink, struct psnap_error *error)
{
    return psnap_sink_finish(((struct memory_side *)sink)->to, error);
}

static void memory_side_free(struct psnap_sink *sink)
{
    detail_free(((struct memory_side *)sink)->detail);
    free(sink);
}

struct psnap_sink *psnap_memory_side_new(const struct psnap_machine *machine, struct psnap_sink *to,
                                         struct psnap_memory_side *side, struct psnap_error *error)
{
    static const struct psnap_sink_ops ops = {
        .put = memory_side_put, .finish = memory_side_finish, .free = memory_side_free};
    struct memory_side *self = calloc(1, sizeof *self);

    if (self)
        self->detail = detail_new(machine, 0, false);
    if (!self || !self->detail) {
        free(self);
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "the machine's caches do not fit in memory");
        return NULL;
    }
    detail_watch_memory(self->detail, &(struct detail_memory){.request = put_on, .context = self});
    memset(side, 0, sizeof *side);
    self->base.ops = &ops;
    self->to = to;
    self->side = side;
    return &self->base;
}
