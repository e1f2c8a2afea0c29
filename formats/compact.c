/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses of a memory of a few GiB: pages of the stream's addresses become those from a base on,
 * one behind the other, in the order of their first use. Pages are large, as a system's huge ones
 * are, so that arrays stay whole. What crosses a page is split there.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/map.h"
#include "formats/trace.h"

enum {
    PAGE_BITS = PSNAP_PAGE_BITS,
    BLOCK = 256,
    LATEST = 16,
    WIDTH_MAX = 64 /* of runs that are put on as they are */
};
#define PAGE_BYTES (UINT64_C(1) << PAGE_BITS)

struct compact {
    struct psnap_sink base;
    struct psnap_sink *to;
    struct psnap_compact *report;
    struct psnap_map pages; /* where each page is, in pages from the base on, and 1 */
    struct {
        uint64_t page, at;            /* and where it begins */
    } latest[LATEST];                 /* pages that were used last, by page modulo their number */
    struct psnap_access block[BLOCK]; /* which are put on together */
    size_t used;
};

/* Makes `page` one of the latest; fails where the page has no place in 64 bits. */
static enum psnap_status find_page(struct compact *compact, uint64_t page,
                                   struct psnap_error *error)
{
    uint64_t *number = psnap_map_put(&compact->pages, page), at;

    if (!number)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    if (!*number)
        *number = ++compact->report->pages;
    if (__builtin_mul_overflow(*number - 1, PAGE_BYTES, &at) ||
        __builtin_add_overflow(at, compact->report->base, &at) || at > UINT64_MAX - PAGE_BYTES)
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "so much memory, from 0x%" PRIx64 " on, has no addresses",
                               compact->report->base);
    compact->latest[page % LATEST].page = page;
    compact->latest[page % LATEST].at = at;
    return PSNAP_OK;
}

static enum psnap_status put_on(struct compact *compact, struct psnap_error *error)
{
    const size_t n = compact->used;

    compact->used = 0;
    return n ? psnap_sink_put(compact->to, compact->block, n, error) : PSNAP_OK;
}

/* Where an address is put. */
static inline enum psnap_status place(struct compact *compact, uint64_t address, uint64_t *to,
                                      struct psnap_error *error)
{
    const uint64_t page = address >> PAGE_BITS;
    enum psnap_status status = PSNAP_OK;

    if (page != compact->latest[page % LATEST].page)
        status = find_page(compact, page, error);
    *to = compact->latest[page % LATEST].at + address % PAGE_BYTES;
    return status;
}

/* `size` bytes of an access, from the first on, which are in one page. */
static enum psnap_status put_part(struct compact *compact, const struct psnap_access *access,
                                  uint64_t address, uint64_t size, struct psnap_error *error)
{
    struct psnap_access *part = &compact->block[compact->used];
    enum psnap_status status;

    *part = *access;
    part->size = (uint8_t)size;
    status = place(compact, address, &part->address, error);
    if (status)
        return status;
    return ++compact->used == BLOCK ? put_on(compact, error) : PSNAP_OK;
}

static enum psnap_status compact_put(struct psnap_sink *sink, const struct psnap_access *block,
                                     size_t n, struct psnap_error *error)
{
    struct compact *compact = (struct compact *)sink;
    enum psnap_status status = PSNAP_OK;

    for (size_t i = 0; i < n && !status; i++) {
        const uint64_t address = block[i].address, left = PAGE_BYTES - address % PAGE_BYTES;
        const uint64_t size = block[i].size;
        status = put_part(compact, &block[i], address, size < left ? size : left, error);
        if (!status && size > left)
            status = put_part(compact, &block[i], address + left, size - left, error);
    }
    return status ? status : put_on(compact, error);
}

/* For how many repetitions, from one on, an access stays in its page; 0: it is in two. */
static uint64_t repetitions_in_page(uint64_t address, uint64_t size, int64_t stride)
{
    const uint64_t at = address % PAGE_BYTES;

    if (at + size > PAGE_BYTES)
        return 0;
    if (stride < 0)
        return 1 + at / -(uint64_t)stride;
    return stride ? 1 + (PAGE_BYTES - size - at) / (uint64_t)stride : UINT64_MAX;
}

static enum psnap_status compact_put_run(struct psnap_sink *sink, const struct psnap_run *run,
                                         struct psnap_error *error)
{
    struct compact *compact = (struct compact *)sink;
    struct psnap_access first[WIDTH_MAX];
    enum psnap_status status = PSNAP_OK;
    uint64_t n;

    if (run->width > WIDTH_MAX)
        return psnap_sink_put_repetitions(sink, run, 0, run->count, error);
    for (uint64_t i = 0; i < run->count && !status; i += n) {
        n = run->count - i;
        for (size_t k = 0; k < run->width; k++) {
            const uint64_t address = psnap_run_address(run, i, k);
            const uint64_t here = repetitions_in_page(address, run->first[k].size, run->strides[k]);
            n = here < n ? here : n;
        }
        if (!n) {
            n = 1;
            status = psnap_sink_put_repetitions(sink, run, i, i + 1, error);
            continue;
        }
        for (size_t k = 0; k < run->width && !status; k++) {
            first[k] = run->first[k];
            status = place(compact, psnap_run_address(run, i, k), &first[k].address, error);
        }
        if (!status)
            status = psnap_sink_put_run(
                compact->to,
                &(struct psnap_run){
                    .first = first, .strides = run->strides, .width = run->width, .count = n},
                error);
    }
    return status;
}

static enum psnap_status compact_finish(struct psnap_sink *sink, struct psnap_error *error)
{
    return psnap_sink_finish(((struct compact *)sink)->to, error);
}

static void compact_free(struct psnap_sink *sink)
{
    free(((struct compact *)sink)->pages.slots);
    free(sink);
}

struct psnap_sink *psnap_compact_new(struct psnap_sink *to, struct psnap_compact *report,
                                     struct psnap_error *error)
{
    static const struct psnap_sink_ops ops = {.put = compact_put,
                                              .finish = compact_finish,
                                              .free = compact_free,
                                              .put_run = compact_put_run};
    struct compact *compact = calloc(1, sizeof *compact);

    if (!compact) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    compact->base.ops = &ops;
    compact->to = to;
    compact->report = report;
    memset(compact->latest, 0xff, sizeof compact->latest); /* pages that no address is in */
    report->pages = 0;
    report->page_bytes = PAGE_BYTES;
    return &compact->base;
}
