/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What psnap show says of the model of a profile, for all of its forms (cmd_show_model.h).
 */
#include "profile/cmd_show_model.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "formats/base/cmd.h"

const char *const show_kinds[3] = {"load", "store", "atomic"};
const uint64_t show_reuse_bounds[SHOW_REUSE_BOUNDS] = {16, 512, 1 << 14, 1 << 19, 1 << 24};

bool show_steady_trips(const struct model_body *body, uint64_t *trips)
{
    const struct nest_terms *terms = &body->trips;
    const uint64_t *values;

    if (body->is_drawn) {
        *trips = body->histogram.bins[0].low;
        return body->histogram.count == 1 && body->histogram.bins[0].high == *trips;
    }
    if (terms->count != 1 || terms->terms[0].pattern->body_count)
        return false;
    values = nest_term_values(terms, 0);
    *trips = values[1];
    return values[0] == 1 || !terms->terms[0].pattern->steps[0];
}

void show_count(const uint64_t *value, const uint64_t *const *steps, uint32_t depth, size_t offset,
                char *text)
{
    const char *separator = " (";
    size_t used = 0;
    char digits[32];

    if ((int64_t)*value < 0)
        used = (size_t)snprintf(text, SHOW_TEXT / 2, "%" PRId64, (int64_t)*value);
    else
        used = (size_t)snprintf(text, SHOW_TEXT / 2, "%s", psnap_group_digits(*value, digits));
    for (uint32_t l = 0; l < depth && used < SHOW_TEXT / 2 - 32; l++) {
        if (!steps[l][offset] && *separator == ' ')
            continue; /* from the outermost loop on in which it changes */
        used +=
            (size_t)snprintf(text + used, 32, "%s%+" PRId64, separator, (int64_t)steps[l][offset]);
        separator = ", ";
    }
    if (*separator == ',')
        snprintf(text + used, 2, ")");
}

const struct psnap_profile_region *show_region_at(const struct psnap_profile_loop *loop,
                                                  uint64_t address)
{
    const struct psnap_profile_region *best = NULL;

    for (uint32_t i = 0; i < loop->region_count; i++) {
        const struct psnap_profile_region *region = &loop->regions[i];
        if (address - region->low < region->bytes)
            return region;
        if (!best || (region->low <= address && (best->low > address || region->low > best->low)))
            best = region;
    }
    return best;
}

/* " +8": the stride of the innermost loop with iterations; nothing when there is none. */
static void add_stride(const struct nest_pattern *pattern, const uint64_t *values, char *text,
                       size_t size)
{
    int64_t stride = 0;

    for (; pattern->body_count == 1; pattern = pattern->body[0], values++)
        if (values[0] > 1)
            stride = (int64_t)pattern->steps[pattern->values - 2];
    if (!pattern->body_count && values[0] > 1)
        stride = (int64_t)pattern->steps[0];
    if (pattern->body_count)
        snprintf(text, size, " nest");
    else if (stride)
        snprintf(text, size, " %+" PRId64, stride);
}

/* The first address of a term. */
static uint64_t first_address(const struct nest_pattern *pattern, const uint64_t *values)
{
    for (; pattern->body_count; pattern = pattern->body[0])
        values++;
    return values[1];
}

void show_ref_brief(const struct psnap_profile *profile, const struct model_ref *ref,
                    char text[SHOW_TEXT])
{
    const struct psnap_stream_model *model = profile->stream;
    const size_t used = (size_t)snprintf(text, SHOW_TEXT, "%s ", show_kinds[ref->kind]);

    if (ref->rule == MODEL_NEST) {
        const struct nest_pattern *pattern = ref->addresses.terms[0].pattern;
        const uint64_t *values = nest_term_values(&ref->addresses, 0);
        const struct psnap_profile_region *region =
            show_region_at(&profile->loops[ref->loop], first_address(pattern, values));
        const size_t more = (size_t)snprintf(text + used, 80, "%.60s", region ? region->id : "?");
        if (ref->addresses.count > 1)
            snprintf(text + used + more, 32, " nest");
        else
            add_stride(pattern, values, text + used + more, 32);
    } else if (ref->rule == MODEL_DEPENDENT) {
        const struct model_ref *base = &model->refs[ref->bases[0]];
        const bool is_own = base->loop == ref->loop;
        snprintf(text + used, SHOW_TEXT / 2, "@%" PRIu32 "%s%.60s %+" PRId64 "%s", base->number,
                 is_own ? "" : " of ", is_own ? "" : profile->loops[base->loop].id,
                 ref->offsets[0].bytes,
                 ref->base_count > 1 || ref->offset_count > 1 ? " or else" : "");
    } else {

        {
            char objects[SHOW_TEXT];
            show_objects(model, ref, objects);
            snprintf(text + used, SHOW_TEXT - 16, "~%.200s", objects);
        }
    }
}

struct show_reuse show_reuse_of(const struct model_ref *ref)
{
    struct show_reuse sum = {{0}, 0, 0};

    for (uint32_t i = 0; i < ref->reuse_count; i++)
        for (uint32_t k = 0; k < ref->reuses[i].bin_count; k++) {
            const struct reuse_bin_count *bin = &ref->reuses[i].bins[k];
            sum.all += bin->count;
            if (bin->bin == REUSE_FIRST) {
                sum.first += bin->count;
                continue;
            }
            for (uint32_t b = 0; b < SHOW_REUSE_BOUNDS; b++)
                if (reuse_bin_low(bin->bin) < show_reuse_bounds[b])
                    sum.within[b] += bin->count;
        }
    return sum;
}

static uint64_t accesses_of(const struct reuse *reuse)
{
    uint64_t sum = 0;

    for (uint32_t k = 0; k < reuse->bin_count; k++)
        sum += reuse->bins[k].count;
    return sum;
}

void show_objects(const struct psnap_stream_model *model, const struct model_ref *ref,
                  char text[SHOW_TEXT])
{
    uint32_t best = 0;

    for (uint32_t i = 1; i < ref->reuse_count; i++)
        if (accesses_of(&ref->reuses[i]) > accesses_of(&ref->reuses[best]))
            best = i;
    snprintf(text, SHOW_TEXT / 2, "%.80s", model->objects[ref->reuses[best].object].id);
    if (ref->reuse_count > 1)
        snprintf(text + strlen(text), 32, " and %" PRIu32 " more", ref->reuse_count - 1);
}
