/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The columns of a profile (REPO_COLUMNS), as an object in JSON.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/json.h"
#include "formats/base/yaml.h"
#include "profile/profile.h"
#include "profile/repo/repo.h"

static int by_low(const void *a, const void *b)
{
    const struct psnap_profile_region *p = *(const struct psnap_profile_region *const *)a,
                                      *q = *(const struct psnap_profile_region *const *)b;

    return p->low < q->low ? -1 : p->low > q->low;
}

/* Returns the bytes that regions cover together, each once; sorts them. */
static uint64_t cover(const struct psnap_profile_region **regions, size_t count)
{
    uint64_t next = 0, bytes = 0; /* next: the address from which on nothing is counted yet */

    if (count)
        qsort(regions, count, sizeof(struct psnap_profile_region *), by_low);
    for (size_t i = 0; i < count; i++) {
        const uint64_t low = regions[i]->low > next ? regions[i]->low : next,
                       last = regions[i]->low + (regions[i]->bytes - 1);
        if (!regions[i]->bytes || last < low)
            continue;
        bytes += last - low + 1;
        next = last + 1;
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

static void put_facts(struct psnap_json *json, const struct psnap_profile *profile, size_t bytes,
                      const struct psnap_profile_region **regions)
{
    const struct psnap_provenance *p = &profile->provenance;
    struct psnap_profile_totals totals;
    size_t count = 0;

    for (uint32_t l = 0; l < profile->loop_count; l++)
        for (uint32_t i = 0; i < profile->loops[l].region_count; i++)
            regions[count++] = &profile->loops[l].regions[i];
    psnap_profile_totals(profile, &totals);
    psnap_json_u64(json, "bytes", bytes);
    psnap_json_text(json, "program", p->name);
    psnap_json_begin_array(json, "command");
    for (const char *const *word = p->command; word && *word; word++)
        psnap_json_text(json, NULL, *word);
    psnap_json_end_array(json);
    psnap_json_text(json, "build_id", p->build_id);
    psnap_json_text(json, "language", p->source_language);
    psnap_json_text(json, "compiler", p->compiler);
    psnap_json_text(json, "host", p->host);
    psnap_json_text(json, "recorded", p->recorded);
    psnap_json_text(json, "model", profile->model);
    psnap_json_begin_array(json, "functions");
    for (uint32_t l = 0; l < profile->loop_count; l++)
        psnap_json_text(json, NULL, profile->loops[l].function);
    psnap_json_end_array(json);
    psnap_json_u64(json, "accesses", totals.accesses);
    psnap_json_u64(json, "loads", totals.loads);
    psnap_json_u64(json, "stores", totals.stores);
    psnap_json_u64(json, "atomics", totals.atomics);
    psnap_json_u64(json, "loops", profile->loop_count);
    psnap_json_u64(json, "regions", count);
    psnap_json_u64(json, "working_set", cover(regions, count));
    psnap_json_real(json, "fidelity", fidelity_of(profile));
}

char *facts_of(const struct repo_bytes *yaml, const char *name, struct psnap_error *error)
{
    struct psnap_yaml_doc *doc = psnap_yaml_read_text(yaml->data, yaml->size, name, error);
    struct psnap_profile *profile = doc ? psnap_profile_read_document(doc, error) : NULL;
    const struct psnap_profile_region **regions;
    size_t size, count = 1;
    struct psnap_json json;
    char *text = NULL;
    FILE *file;

    psnap_yaml_doc_free(doc);
    if (!profile)
        return NULL;
    for (uint32_t l = 0; l < profile->loop_count; l++)
        count += profile->loops[l].region_count;
    regions = malloc(count * sizeof *regions);
    file = regions ? open_memstream(&text, &size) : NULL;
    if (file) {
        psnap_json_init(&json, file);
        psnap_json_begin_object(&json, NULL);
        put_facts(&json, profile, yaml->size, regions);
        psnap_json_end_object(&json);
        fclose(file);
    }
    if (!text)
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    free(regions);
    psnap_profile_free(profile);
    return text;
}
