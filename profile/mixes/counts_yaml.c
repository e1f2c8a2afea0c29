/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Histograms of counts (counts.h) in profiles.
 */
#include <inttypes.h>
#include <string.h>

#include "profile/mixes/counts.h"
#include "profile/profile.h"

static void write_bins(const struct psnap_counts *counts, bool is_known, struct psnap_yaml_doc *doc,
                       struct psnap_yaml_node *map, const char *key)
{
    const struct psnap_counts_bin *bins = counts->bins;
    struct psnap_yaml_node *list, *inner;

    if (is_known && counts->bin_count == 1 && bins->low == bins->high) {
        psnap_yaml_add_u64(doc, map, key, bins->low);
        return;
    }
    list = psnap_yaml_add_sequence(doc, map, key, PSNAP_YAML_FLOW);
    for (uint32_t i = 0; i < counts->bin_count; i++) {
        inner = psnap_yaml_add_map(doc, list, NULL, PSNAP_YAML_FLOW);
        psnap_yaml_add_u64(doc, inner, bins[i].low == bins[i].high ? "is" : "from", bins[i].low);
        if (bins[i].low != bins[i].high)
            psnap_yaml_add_u64(doc, inner, "to", bins[i].high);
        psnap_yaml_add_u64(doc, inner, "times", bins[i].times);
        if (bins[i].low != bins[i].high)
            psnap_yaml_add_u64(doc, inner, "sum", bins[i].sum);
    }
}

void counts_write(const struct psnap_counts *counts, bool is_known, struct psnap_yaml_doc *doc,
                  struct psnap_yaml_node *map, const char *key)
{
    struct psnap_yaml_node *node;

    write_bins(counts, is_known, doc, map, key);
    node = counts->is_even ? psnap_yaml_add_text(doc, map, "evenly", "true") : NULL;
    if (node)
        node->quoted = false; /* no text */
}

struct counts_reading {
    const struct psnap_yaml_doc *doc;
    const char *more; /* a key of bins that is the caller's, or NULL */
    struct psnap_error *error;
};

static enum psnap_status read_number(const struct counts_reading *r,
                                     const struct psnap_yaml_node *map, const char *key,
                                     uint64_t low, uint64_t *number)
{
    const struct psnap_yaml_node *node = psnap_yaml_require(r->doc, map, key, r->error);

    return node ? psnap_yaml_u64(r->doc, node, low, PSNAP_COUNT_MAX, number, r->error)
                : PSNAP_ERROR_VALUE;
}

/* low * times, or PSNAP_COUNT_MAX + 1 if it is more than PSNAP_COUNT_MAX. */
static uint64_t product(uint64_t count, uint64_t times)
{
    uint64_t sum;

    return __builtin_mul_overflow(count, times, &sum) || sum > PSNAP_COUNT_MAX ? PSNAP_COUNT_MAX + 1
                                                                               : sum;
}

/* The sum of a bin whose range and times are known. */
static enum psnap_status read_bin_sum(const struct counts_reading *r,
                                      const struct psnap_yaml_node *map,
                                      struct psnap_counts_bin *bin)
{
    const struct psnap_yaml_node *node = psnap_yaml_get(map, "sum");
    const uint64_t least = product(bin->low, bin->times), most = product(bin->high, bin->times);
    enum psnap_status status;

    if (least > PSNAP_COUNT_MAX)
        return psnap_yaml_fail(r->doc, map, r->error, PSNAP_ERROR_VALUE,
                               "counts come to more than %" PRIu64, PSNAP_COUNT_MAX);
    if (!node) {
        if (most > PSNAP_COUNT_MAX)
            return psnap_yaml_fail(
                r->doc, map, r->error, PSNAP_ERROR_VALUE,
                "counts may come to more than %" PRIu64 ": there must be a 'sum'", PSNAP_COUNT_MAX);
        bin->sum = least + (most - least) / 2;
        return PSNAP_OK;
    }
    status = psnap_yaml_u64(r->doc, node, 0, PSNAP_COUNT_MAX, &bin->sum, r->error);
    if (!status && (bin->sum < least || bin->sum > most))
        return psnap_yaml_fail(r->doc, node, r->error, PSNAP_ERROR_VALUE,
                               "%" PRIu64 " counts from %" PRIu64 " to %" PRIu64
                               " cannot have the sum %" PRIu64,
                               bin->times, bin->low, bin->high, bin->sum);
    return status;
}

/* {is, times} or {from, to, times, sum} */
static enum psnap_status read_bin(const struct counts_reading *r, const struct psnap_yaml_node *map,
                                  struct psnap_counts_bin *bin)
{
    const char *const is_keys[] = {"is", "times", r->more, NULL};
    const char *const range_keys[] = {"from", "to", "times", "sum", r->more, NULL};
    const bool is_one = psnap_yaml_get(map, "is");
    enum psnap_status status =
        psnap_yaml_expect_keys(r->doc, map, "a count", is_one ? is_keys : range_keys, r->error);

    if (!status)
        status = read_number(r, map, is_one ? "is" : "from", 0, &bin->low);
    bin->high = bin->low;
    if (!status && !is_one)
        status = read_number(r, map, "to", bin->low, &bin->high);
    if (!status)
        status = read_number(r, map, "times", 1, &bin->times);
    return status ? status : read_bin_sum(r, map, bin);
}

static enum psnap_status read_bins(const struct counts_reading *r,
                                   const struct psnap_yaml_node *list, struct psnap_counts *counts)
{
    enum psnap_status status =
        psnap_yaml_expect(r->doc, list, PSNAP_YAML_SEQUENCE, "counts", r->error);

    if (!status && (!list->count || list->count > COUNTS_BINS))
        return psnap_yaml_fail(r->doc, list, r->error, PSNAP_ERROR_VALUE,
                               "there must be 1 to %d counts, or ranges of them, with their times",
                               COUNTS_BINS);
    for (const struct psnap_yaml_node *map = list->first; map && !status; map = map->next) {
        struct psnap_counts_bin *bin = &counts->bins[counts->bin_count];
        status = read_bin(r, map, bin);
        if (status)
            return status;
        if (counts->bin_count && bin->low <= bin[-1].high)
            return psnap_yaml_fail(r->doc, map, r->error, PSNAP_ERROR_VALUE,
                                   "counts must ascend: %" PRIu64 " comes after %" PRIu64, bin->low,
                                   bin[-1].high);
        counts->bin_count++;
        counts->times += bin->times;
        counts->sum += bin->sum;
        if (counts->times > PSNAP_COUNT_MAX || counts->sum > PSNAP_COUNT_MAX)
            return psnap_yaml_fail(r->doc, map, r->error, PSNAP_ERROR_VALUE,
                                   "counts come to more than %" PRIu64, PSNAP_COUNT_MAX);
    }
    return status;
}

enum psnap_status counts_read(const struct psnap_yaml_doc *doc, const struct psnap_yaml_node *node,
                              uint64_t times, const char *more, struct psnap_counts *counts,
                              struct psnap_error *error)
{
    const struct counts_reading r = {doc, more, error};
    enum psnap_status status;
    uint64_t count = 0;

    *counts = (struct psnap_counts){0};
    if (!times || node->kind != PSNAP_YAML_SCALAR) {
        status = read_bins(&r, node, counts);
        if (!status && times && counts->times != times)
            return psnap_yaml_fail(doc, node, error, PSNAP_ERROR_VALUE,
                                   "there are %" PRIu64 " counts, but there must be %" PRIu64,
                                   counts->times, times);
        return status;
    }
    status = psnap_yaml_u64(doc, node, 0, PSNAP_COUNT_MAX, &count, error);
    if (!status && product(count, times) > PSNAP_COUNT_MAX)
        return psnap_yaml_fail(doc, node, error, PSNAP_ERROR_VALUE,
                               "%" PRIu64 " counts of %" PRIu64 " come to more than %" PRIu64,
                               times, count, PSNAP_COUNT_MAX);
    counts->times = times;
    counts->sum = count * times;
    counts->bin_count = 1;
    counts->bins[0] = (struct psnap_counts_bin){count, count, times, counts->sum};
    return status;
}

enum psnap_status counts_read_evenly(const struct psnap_yaml_doc *doc,
                                     const struct psnap_yaml_node *map, struct psnap_counts *counts,
                                     struct psnap_error *error)
{
    const struct psnap_yaml_node *node = psnap_yaml_get(map, "evenly");
    const bool is_word = node && node->kind == PSNAP_YAML_SCALAR && !node->quoted;

    counts->is_even = is_word && !strcmp(node->text, "true");
    if (!node || counts->is_even || (is_word && !strcmp(node->text, "false")))
        return PSNAP_OK;
    return psnap_yaml_fail(doc, node, error, PSNAP_ERROR_VALUE, "'evenly' must be true or false");
}
