/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Facts of a profile (facts.h).
 */
#include "profile/repo/facts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/json.h"
#include "formats/base/yaml.h"

enum { LINE = 64 };

static struct psnap_profile *parse(const struct repo_bytes *yaml, const char *name,
                                   struct psnap_error *error)
{
    struct psnap_yaml_doc *doc = psnap_yaml_read_text(yaml->data, yaml->size, name, error);
    struct psnap_profile *profile = doc ? psnap_profile_read_document(doc, error) : NULL;

    psnap_yaml_doc_free(doc);
    return profile;
}

/* ------------------------------------------------------------------------- signature */

static unsigned log2_of(uint64_t value, unsigned limit)
{
    const unsigned bin = value ? 63 - (unsigned)__builtin_clzll(value) : 0;

    return bin < limit ? bin : limit - 1;
}

static void add_region(const struct psnap_profile_region *region, double bins[SIGNATURE_BINS])
{
    const double accesses = (double)region->accesses;

    for (unsigned i = 0; i < region->stride_count; i++) /* they add up to accesses - 1 */
        bins[SIGNATURE_STRIDES + region->strides[i].bin] +=
            accesses * (double)region->strides[i].count / (accesses - 1);
    bins[SIGNATURE_SIZES + log2_of(region->bytes, SIGNATURE_USES - SIGNATURE_SIZES)] += accesses;
    bins[SIGNATURE_USES + log2_of(region->accesses / (region->bytes / LINE + 1),
                                  SIGNATURE_BINS - SIGNATURE_USES)] += accesses;
}

static void find_signature(const struct psnap_profile *profile, float signature[SIGNATURE_BINS])
{
    static const unsigned parts[] = {SIGNATURE_STRIDES, SIGNATURE_SIZES, SIGNATURE_USES,
                                     SIGNATURE_BINS};
    double bins[SIGNATURE_BINS] = {0};

    for (uint32_t l = 0; l < profile->loop_count; l++)
        for (uint32_t i = 0; i < profile->loops[l].region_count; i++)
            add_region(&profile->loops[l].regions[i], bins);
    for (unsigned p = 0; p < 3; p++) {
        double sum = 0;
        for (unsigned i = parts[p]; i < parts[p + 1]; i++)
            sum += bins[i];
        for (unsigned i = parts[p]; i < parts[p + 1]; i++)
            signature[i] = sum > 0 ? (float)sqrt(bins[i] / sum) : 0;
    }
}

double signature_similarity(const float a[SIGNATURE_BINS], const float b[SIGNATURE_BINS])
{
    double ab = 0, aa = 0, bb = 0;

    for (unsigned i = 0; i < SIGNATURE_BINS; i++) {
        ab += (double)a[i] * b[i];
        aa += (double)a[i] * a[i];
        bb += (double)b[i] * b[i];
    }
    return aa * bb > 0 ? ab / sqrt(aa * bb) : aa == bb;
}

/* -------------------------------------------------------------------- texts and counts */

struct span {
    uint64_t low, last;
};

static int by_low(const void *a, const void *b)
{
    const struct span *p = a, *q = b;

    return p->low < q->low ? -1 : p->low > q->low;
}

/* The bytes that regions cover together, each once. */
static uint64_t cover(const struct psnap_profile *profile, struct span *spans)
{
    uint64_t next = 0, bytes = 0; /* next: the address from which on nothing is counted yet */
    size_t n = 0;

    for (uint32_t l = 0; l < profile->loop_count; l++)
        for (uint32_t i = 0; i < profile->loops[l].region_count; i++) {
            const struct psnap_profile_region *region = &profile->loops[l].regions[i];
            if (region->bytes)
                spans[n++] = (struct span){region->low, region->low + (region->bytes - 1)};
        }
    qsort(spans, n, sizeof *spans, by_low);
    for (size_t i = 0; i < n; i++) {
        const uint64_t low = spans[i].low > next ? spans[i].low : next;
        if (spans[i].last < low)
            continue;
        bytes += spans[i].last - low + 1;
        next = spans[i].last + 1;
        if (!next)
            break;
    }
    return bytes;
}

/* The worst level's mean error, of a certificate that is of this profile; NaN: there is none. */
static double fidelity_of(const struct psnap_profile *profile)
{
    const struct psnap_certificate *certificate = profile->certificate;
    double worst = NAN;

    if (!certificate || psnap_certificate_holds(profile, NULL) != 1)
        return NAN;
    for (uint32_t i = 0; i < certificate->level_count; i++)
        if (!certificate->levels[i].is_tlb)
            worst = fmax(worst, certificate->levels[i].mean_points);
    return worst;
}

static void put_command(struct psnap_json *json, const char *const *command)
{
    char *text = NULL;
    size_t size;
    FILE *file = command ? open_memstream(&text, &size) : NULL;

    for (; file && *command; command++)
        fprintf(file, "%s%s", ftell(file) ? " " : "", *command);
    if (file && !fclose(file))
        psnap_json_text(json, "command", text);
    free(text);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* "\ninit\nmain\n", so that a whole name can be searched for. */
static void put_functions(struct psnap_json *json, const struct psnap_profile *profile,
                          const char **names)
{
    char *text = NULL;
    size_t size, n = 0;
    FILE *file = open_memstream(&text, &size);

    for (uint32_t l = 0; l < profile->loop_count; l++)
        if (profile->loops[l].function && !strchr(profile->loops[l].function, '\n'))
            names[n++] = profile->loops[l].function;
    qsort(names, n, sizeof *names, by_text);
    for (size_t i = 0; i < n && file; i++)
        if (!i || strcmp(names[i], names[i - 1]) != 0)
            fprintf(file, "%s%s\n", i ? "" : "\n", names[i]);
    if (file && !fclose(file))
        psnap_json_text(json, "functions", text);
    free(text);
}

static void put_facts(struct psnap_json *json, const struct psnap_profile *profile,
                      uint64_t regions, uint64_t working_set)
{
    const struct psnap_provenance *p = &profile->provenance;
    struct psnap_profile_totals totals;

    psnap_profile_totals(profile, &totals);
    psnap_json_text(json, "program", p->name);
    put_command(json, p->command);
    psnap_json_text(json, "build_id", p->build_id);
    psnap_json_text(json, "language", p->source_language);
    psnap_json_text(json, "compiler", p->compiler);
    psnap_json_text(json, "host", p->host);
    psnap_json_text(json, "recorded", p->recorded);
    psnap_json_text(json, "model", profile->model);
    psnap_json_u64(json, "accesses", totals.accesses);
    psnap_json_u64(json, "loads", totals.loads);
    psnap_json_u64(json, "stores", totals.stores);
    psnap_json_u64(json, "atomics", totals.atomics);
    psnap_json_u64(json, "loops", profile->loop_count);
    psnap_json_u64(json, "regions", regions);
    psnap_json_u64(json, "working_set", working_set);
    psnap_json_real(json, "certified", fidelity_of(profile));
}

enum psnap_status facts_of(const struct repo_bytes *yaml, const char *name, struct facts *facts,
                           struct psnap_error *error)
{
    struct psnap_profile *profile = parse(yaml, name, error);
    const char **names;
    struct span *spans;
    struct psnap_json json;
    uint64_t regions = 0;
    size_t size;
    FILE *file;
    bool is_good;

    *facts = (struct facts){.json = NULL};
    if (!profile)
        return error->code;
    for (uint32_t l = 0; l < profile->loop_count; l++)
        regions += profile->loops[l].region_count;
    names = malloc((profile->loop_count + 1) * sizeof *names);
    spans = malloc((size_t)(regions + 1) * sizeof *spans);
    file = names && spans ? open_memstream(&facts->json, &size) : NULL;
    if (file) {
        psnap_json_init(&json, file);
        psnap_json_begin_object(&json, NULL);
        put_facts(&json, profile, regions, cover(profile, spans));
        put_functions(&json, profile, names);
        psnap_json_end_object(&json);
        find_signature(profile, facts->signature);
    }
    is_good = file && !fclose(file);
    free(names);
    free(spans);
    psnap_profile_free(profile);
    return is_good ? PSNAP_OK : psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
}

void facts_release(struct facts *facts)
{
    free(facts->json);
    facts->json = NULL;
}
