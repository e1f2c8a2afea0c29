/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Profiles in words (cmd_words.h).
 */
#include "profile/cmd_words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "formats/base/cmd.h"

const char *human_bytes(uint64_t bytes, char text[32])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    unsigned unit = 0;

    for (; value >= 1024 && unit < 6; unit++)
        value /= 1024;
    snprintf(text, 32, unit && value < 100 ? "%.1f %s" : "%.0f %s", value, units[unit]);
    return text;
}

unsigned human_shares(const uint64_t *counts, unsigned n, unsigned largest[HUMAN_SHARES],
                      double percent[HUMAN_SHARES])
{
    uint64_t sum = 0;
    unsigned found = 0;

    for (unsigned i = 0; i < n; i++)
        sum += counts[i];
    for (unsigned i = 0, at; i < n; i++) {
        if (20 * (double)counts[i] < (double)sum || !counts[i])
            continue;
        if (found == HUMAN_SHARES && counts[i] <= counts[largest[found - 1]])
            continue;
        at = found < HUMAN_SHARES ? found++ : HUMAN_SHARES - 1;
        for (; at && counts[largest[at - 1]] < counts[i]; at--)
            largest[at] = largest[at - 1];
        largest[at] = i;
    }
    for (unsigned i = 0; i < found; i++)
        percent[i] = 100 * (double)counts[largest[i]] / (double)sum;
    return found;
}

const char *human_strides(const uint64_t counts[PSNAP_STRIDE_BINS], char *text, size_t size)
{
    unsigned largest[HUMAN_SHARES];
    double percent[HUMAN_SHARES];
    const unsigned n = human_shares(counts, PSNAP_STRIDE_BINS, largest, percent);
    size_t used = 0;

    snprintf(text, size, "-");
    for (unsigned i = 0; i < n; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s %.0f %%", i ? ", " : "",
                                 psnap_stride_label(largest[i]), percent[i]);
    return text;
}

const char *human_source(const struct psnap_profile_loop *loop, char *text, size_t size)
{
    if (loop->src_line)
        snprintf(text, size, "%s:%" PRIu32, loop->file, loop->src_line);
    else
        snprintf(text, size, "%s", *loop->file ? loop->file : "-");
    return text;
}

/* ---- the model ---- */

enum { TERMS_SHOWN = 2 /* of a nest of several */ };

static double share_of(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

const char *const model_kinds[3] = {"load", "store", "atomic"};
const char *const model_reuse_names[MODEL_REUSE_BOUNDS] = {"<16", "<512", "<16K", "<512K", "<16M"};
static const uint64_t reuse_bounds[MODEL_REUSE_BOUNDS] = {16, 512, 1 << 14, 1 << 19, 1 << 24};

bool model_steady_trips(const struct model_body *body, uint64_t *trips)
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

void human_count(const uint64_t *value, const uint64_t *const *steps, uint32_t depth, size_t offset,
                 char *text)
{
    const char *separator = " (";
    size_t used = 0;
    char digits[32];

    if ((int64_t)*value < 0)
        used = (size_t)snprintf(text, MODEL_TEXT / 2, "%" PRId64, (int64_t)*value);
    else
        used = (size_t)snprintf(text, MODEL_TEXT / 2, "%s", psnap_group_digits(*value, digits));
    for (uint32_t l = 0; l < depth && used < MODEL_TEXT / 2 - 32; l++) {
        if (!steps[l][offset] && *separator == ' ')
            continue; /* from the outermost loop on in which it changes */
        used +=
            (size_t)snprintf(text + used, 32, "%s%+" PRId64, separator, (int64_t)steps[l][offset]);
        separator = ", ";
    }
    if (*separator == ',')
        snprintf(text + used, 2, ")");
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

/* "@3 of f:7": a reference by its number, and its loop, unless that is `loop`. */
static const char *reference_text(const struct psnap_profile *profile, uint32_t index,
                                  uint32_t loop, char text[80])
{
    const struct model_ref *ref = &profile->stream->refs[index];
    const bool is_own = ref->loop == loop;

    snprintf(text, 80, "@%" PRIu32 "%s%.60s", ref->number, is_own ? "" : " of ",
             is_own ? "" : profile->loops[ref->loop].id);
    return text;
}

/* The region that a reference's nest begins in, as text, and how far in it. */
static int64_t start_of(const struct psnap_profile *profile, const struct model_ref *ref,
                        const char **region_id)
{
    const uint64_t first =
        nest_first_number(ref->addresses.terms[0].pattern, nest_term_values(&ref->addresses, 0));
    const struct psnap_profile_region *region = model_region_at(&profile->loops[ref->loop], first);

    *region_id = region ? region->id : "?";
    return (int64_t)(first - (region ? region->low : 0));
}

void human_ref(const struct psnap_profile *profile, const struct model_ref *ref,
               char text[MODEL_TEXT])
{
    const size_t used = (size_t)snprintf(text, MODEL_TEXT, "%s ", model_kinds[ref->kind]);
    char *const rest = text + used, other[80];

    if (ref->rule == MODEL_NEST) {
        const char *region;
        size_t more;
        start_of(profile, ref, &region);
        more = (size_t)snprintf(rest, 80, "%.60s", region);
        if (ref->addresses.count > 1)
            snprintf(rest + more, 32, " nest");
        else
            add_stride(ref->addresses.terms[0].pattern, nest_term_values(&ref->addresses, 0),
                       rest + more, 32);
    } else if (ref->rule == MODEL_DEPENDENT) {
        snprintf(rest, MODEL_TEXT / 2, "%s %+" PRId64 "%s",
                 reference_text(profile, ref->bases[0], ref->loop, other), ref->offsets[0].bytes,
                 ref->base_count > 1 || ref->offset_count > 1 ? " or else" : "");
    } else if (ref->rule == MODEL_SHARED) {
        snprintf(rest, MODEL_TEXT / 2, "on with %s",
                 reference_text(profile, ref->sweep, ref->loop, other));
    } else {
        rest[0] = '~';
        human_objects(profile->stream, ref, rest + 1);
    }
}

struct model_reuse model_reuse_of(const uint64_t bins[REUSE_BINS])
{
    struct model_reuse sum = {.first = bins[REUSE_FIRST], .all = bins[REUSE_FIRST]};

    for (uint32_t bin = 0; bin < REUSE_FIRST; bin++) {
        sum.all += bins[bin];
        for (uint32_t b = 0; b < MODEL_REUSE_BOUNDS; b++)
            if (reuse_bin_low(bin) < reuse_bounds[b])
                sum.within[b] += bins[bin];
    }
    return sum;
}

void human_objects(const struct psnap_stream_model *model, const struct model_ref *ref,
                   char text[MODEL_BRIEF])
{
    uint32_t best = 0;

    for (uint32_t i = 1; i < ref->reuse_count; i++)
        if (reuse_accesses(&ref->reuses[i]) > reuse_accesses(&ref->reuses[best]))
            best = i;
    snprintf(text, MODEL_TEXT / 2, "%.80s", model->objects[ref->reuses[best].object].id);
    if (ref->reuse_count > 1)
        snprintf(text + strlen(text), 32, " and %" PRIu32 " more", ref->reuse_count - 1);
}

/* ---- nests ---- */

/* A term of numbers: "32 x 256, 32 x 0, 16 x 16"; with `start`, the first number, too. */
static void add_term(const struct nest_pattern *pattern, const uint64_t *values, bool has_start,
                     char *text, size_t size)
{
    const uint64_t *steps[NEST_DEPTH_MAX];
    uint32_t depth = 0;
    char count[MODEL_TEXT];
    size_t used = 0;

    if (has_start)
        used = (size_t)snprintf(text, size, "from %" PRId64 ": ",
                                (int64_t)nest_first_number(pattern, values));
    for (; pattern->body_count == 1 && used + 64 < size; pattern = pattern->body[0], values++) {
        human_count(values, steps, depth, 0, count);
        used += (size_t)snprintf(text + used, size - used, "%s x %" PRId64 ", ", count,
                                 (int64_t)pattern->steps[pattern->values - 2]);
        for (uint32_t l = 0; l < depth; l++)
            steps[l]++;
        steps[depth++] = pattern->steps;
    }
    if (used + 64 >= size) {
        snprintf(text + used, size - used, "...");
        return;
    }
    human_count(values, steps, depth, 0, count);
    if (pattern->body_count)
        snprintf(text + used, size - used, "%s x %" PRIu32 " runs", count, pattern->body_count);
    else
        snprintf(text + used, size - used, "%s x %" PRId64, count, (int64_t)pattern->steps[0]);
}

static void human_nest(const struct nest_terms *terms, bool has_start, char text[MODEL_TEXT])
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < terms->count && i < TERMS_SHOWN; i++) {
        if (i)
            used += (size_t)snprintf(text + used, 8, "; ");
        add_term(terms->terms[i].pattern, nest_term_values(terms, i), has_start, text + used, 96);
        used += strlen(text + used);
    }
    if (terms->count > TERMS_SHOWN)
        snprintf(text + used, MODEL_TEXT - used, "; %zu more term%s", terms->count - TERMS_SHOWN,
                 psnap_plural(terms->count - TERMS_SHOWN));
}

void human_trips(const struct model_body *body, char text[MODEL_TEXT])
{
    const struct trips *drawn = &body->histogram;
    uint64_t steady;
    char digits[32];

    if (body->part_count && !body->is_counted)
        snprintf(text, MODEL_TEXT, "those of its parts");
    else if (body->is_part)
        snprintf(text, MODEL_TEXT, "of a whole, mean %.4g",
                 (double)body->iterations / (double)(body->executions ? body->executions : 1));
    else if (model_steady_trips(body, &steady))
        snprintf(text, MODEL_TEXT, "%s", psnap_group_digits(steady, digits));
    else if (body->is_drawn)
        snprintf(text, MODEL_TEXT, "drawn, %" PRIu64 " to %" PRIu64 ", mean %.4g",
                 drawn->bins[0].low, drawn->bins[drawn->count - 1].high,
                 (double)drawn->sum / (double)drawn->times);
    else
        human_nest(&body->trips, true, text);
}

/* ---- references ---- */

void human_reuse(const uint64_t bins[REUSE_BINS], char text[MODEL_BRIEF])
{
    const struct model_reuse reuse = model_reuse_of(bins);
    size_t used = 0;

    for (uint32_t b = 0; b < MODEL_REUSE_BOUNDS; b++) {
        if (b && reuse.within[b] == reuse.within[b - 1])
            continue;
        used += (size_t)snprintf(text + used, 32, "%s %.3g %%, ", model_reuse_names[b],
                                 100 * share_of(reuse.within[b], reuse.all));
    }
    snprintf(text + used, 32, "first %.2g %%", 100 * share_of(reuse.first, reuse.all));
}

void human_where(const struct psnap_profile *profile, const struct model_ref *ref,
                 char text[MODEL_TEXT])
{
    const char *region;
    size_t used = 0;
    char other[80];

    if (ref->rule == MODEL_NEST) {
        const int64_t offset = start_of(profile, ref, &region);
        snprintf(text, MODEL_TEXT, "%.100s %+" PRId64, region, offset);
    } else if (ref->rule == MODEL_SHARED) {
        snprintf(text, MODEL_TEXT, "sweep of %s",
                 reference_text(profile, ref->sweep, ref->loop, other));
    } else if (ref->rule == MODEL_DEPENDENT) {
        for (uint32_t i = 0; i < ref->base_count; i++)
            used += (size_t)snprintf(text + used, MODEL_TEXT - used, "%s%.56s", i ? " or " : "",
                                     reference_text(profile, ref->bases[i], ref->loop, other));
    } else {
        human_objects(profile->stream, ref, text);
    }
}

void human_addresses(const struct model_ref *ref, char text[MODEL_TEXT])
{
    uint64_t bins[REUSE_BINS] = {0}, sum = 0;
    size_t used = 0;

    if (ref->rule == MODEL_NEST) {
        human_nest(&ref->addresses, false, text);
    } else if (ref->rule == MODEL_SHARED) {
        snprintf(text, MODEL_TEXT, "goes on where the others ended");
    } else if (ref->rule == MODEL_DEPENDENT) {
        for (uint32_t i = 0; i < ref->offset_count; i++)
            sum += ref->offsets[i].count;
        for (uint32_t i = 0; i < ref->offset_count; i++) {
            used += (size_t)snprintf(text + used, 32, "%s%+" PRId64, i ? ", " : "",
                                     ref->offsets[i].bytes);
            if (ref->offset_count > 1)
                used += (size_t)snprintf(text + used, 16, " %.3g %%",
                                         100 * share_of(ref->offsets[i].count, sum));
        }
    } else {
        used = (size_t)snprintf(text, 8, "reuse ");
        reuse_add_up(ref->reuses, ref->reuse_count, bins);
        human_reuse(bins, text + used);
        if (ref->phases > 1)
            snprintf(text + strlen(text), 32, "; %" PRIu32 " phases", ref->phases);
    }
}

void print_command(const char *const *command)
{
    for (const char *const *word = command; word && *word; word++)
        psnap_print(stdout, "%s%s%s", word == command ? " (" : " ", *word, word[1] ? "" : ")");
}
