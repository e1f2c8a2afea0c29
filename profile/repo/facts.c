/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Facts of a profile (facts.h), as lines of text and as a struct.
 */
#include "profile/repo/facts.h"

#include <math.h>
#include <stdlib.h>

#include "formats/base/text.h"
#include "profile/repo/lines.h"

#define FIRST_LINE "psnap-facts 1"

const char *const facts_text_keys[FACTS_TEXTS] = {
    "program", "command",  "build_id", "language",  "compiler",
    "host",    "recorded", "model",    "functions",
};
const char *const facts_count_keys[FACTS_COUNTS] = {
    "accesses", "loads", "stores", "atomics", "loops", "regions", "working_set",
};

struct span {
    uint64_t low, last;
};

static int compare_low(const void *a, const void *b)
{
    const struct span *p = a, *q = b;

    return p->low < q->low ? -1 : p->low > q->low;
}

/* Bytes that regions cover together, each once; false: out of memory. */
static bool cover(const struct psnap_profile *profile, uint64_t regions, uint64_t *bytes)
{
    struct span *spans = malloc(((size_t)regions + 1) * sizeof *spans);
    uint64_t next = 0; /* address from which on nothing is counted yet */
    size_t n = 0;

    if (!spans)
        return false;
    for (uint32_t l = 0; l < profile->loop_count; l++)
        for (uint32_t i = 0; i < profile->loops[l].region_count; i++) {
            const struct psnap_profile_region *region = &profile->loops[l].regions[i];
            if (region->bytes)
                spans[n++] = (struct span){region->low, region->low + (region->bytes - 1)};
        }
    qsort(spans, n, sizeof *spans, compare_low);
    *bytes = 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t low = spans[i].low > next ? spans[i].low : next;
        if (spans[i].last < low)
            continue;
        *bytes += spans[i].last - low + 1;
        next = spans[i].last + 1;
        if (!next)
            break;
    }
    free(spans);
    return true;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Those with most accesses would be the better choice, but any is found by its name in the end. */
static bool write_functions(const struct psnap_profile *profile, struct repo_bytes *lines)
{
    const char **names = malloc(((size_t)profile->loop_count + 1) * sizeof *names);
    unsigned written = 0;
    size_t n = 0;

    if (!names)
        return false;
    for (uint32_t l = 0; l < profile->loop_count; l++)
        if (profile->loops[l].function)
            names[n++] = profile->loops[l].function;
    qsort(names, n, sizeof *names, compare_texts);
    for (size_t i = 0; i < n && written < FACTS_FUNCTIONS_MAX; i++)
        if (!i || strcmp(names[i], names[i - 1]) != 0) {
            lines_add(lines, "function", names[i]);
            written++;
        }
    free(names);
    return true;
}

static void write_command(const char *const *command, struct repo_bytes *lines)
{
    struct repo_bytes text = {0};

    for (; command && *command && text.size < LINES_VALUE_MAX; command++)
        repo_bytes_print(&text, "%s%s", text.size ? " " : "", *command);
    repo_bytes_add(&text, "", 1);
    if (text.is_short)
        lines->is_short = true;
    else
        lines_add(lines, facts_text_keys[FACTS_COMMAND], (const char *)text.data);
    repo_bytes_release(&text);
}

/* The worst level's mean error, of a certificate that is of this profile. */
static double fidelity_of(const struct psnap_profile *profile)
{
    const struct psnap_certificate *certificate = profile->certificate;
    double worst = NAN;

    if (!certificate || psnap_certificate_holds(profile, NULL) != 1)
        return NAN;
    for (uint32_t i = 0; i < certificate->level_count; i++)
        if (!certificate->levels[i].is_tlb && !(worst >= certificate->levels[i].mean_points))
            worst = certificate->levels[i].mean_points;
    return worst;
}

static void write_signature(const struct psnap_profile *profile, struct repo_bytes *lines)
{
    uint8_t signature[SIGNATURE_BYTES];

    signature_of(profile, signature);
    repo_bytes_print(lines, "signature ");
    for (unsigned i = 0; i < SIGNATURE_BYTES; i++)
        repo_bytes_print(lines, "%02x", signature[i]);
    repo_bytes_print(lines, "\n");
}

bool facts_write(const struct psnap_profile *profile, struct repo_bytes *lines)
{
    const struct psnap_provenance *p = &profile->provenance;
    const char *const texts[] = {
        [FACTS_NAME] = p->name,
        [FACTS_BUILD_ID] = p->build_id,
        [FACTS_LANGUAGE] = p->source_language,
        [FACTS_COMPILER] = p->compiler,
        [FACTS_HOST] = p->host,
        [FACTS_RECORDED] = p->recorded,
        [FACTS_MODEL] = profile->model,
    };
    struct psnap_profile_totals totals;
    uint64_t counts[FACTS_COUNTS], regions = 0;

    psnap_profile_totals(profile, &totals);
    for (uint32_t l = 0; l < profile->loop_count; l++)
        regions += profile->loops[l].region_count;
    counts[FACTS_ACCESSES] = totals.accesses;
    counts[FACTS_LOADS] = totals.loads;
    counts[FACTS_STORES] = totals.stores;
    counts[FACTS_ATOMICS] = totals.atomics;
    counts[FACTS_LOOPS] = profile->loop_count;
    counts[FACTS_REGIONS] = regions;
    if (!cover(profile, regions, &counts[FACTS_WORKING_SET]))
        return false;
    repo_bytes_print(lines, "%s\n", FIRST_LINE);
    write_command(p->command, lines);
    for (unsigned i = 0; i < FACTS_FUNCTIONS; i++)
        lines_add(lines, facts_text_keys[i], texts[i]);
    for (unsigned i = 0; i < FACTS_COUNTS; i++)
        lines_add_u64(lines, facts_count_keys[i], counts[i]);
    lines_add_real(lines, "fidelity", fidelity_of(profile));
    write_signature(profile, lines);
    return write_functions(profile, lines) && !lines->is_short;
}

static bool read_signature(const char *text, uint8_t signature[SIGNATURE_BYTES])
{
    if (strlen(text) != (size_t)2 * SIGNATURE_BYTES)
        return false;
    for (unsigned i = 0; i < SIGNATURE_BYTES; i++) {
        const char digits[3] = {text[2 * i], text[2 * i + 1], '\0'};
        char *end;
        signature[i] = (uint8_t)strtoul(digits, &end, 16);
        if (*end)
            return false;
    }
    return true;
}

static bool append_function(struct facts *facts, const char *name)
{
    char **functions = &facts->texts[FACTS_FUNCTIONS], *longer;

    if (asprintf(&longer, "%s%s\n", *functions ? *functions : "\n", name) < 0)
        return false;
    free(*functions);
    *functions = longer;
    return true;
}

static bool read_member(struct facts *facts, const struct lines_member *member)
{
    for (unsigned i = 0; i < FACTS_FUNCTIONS; i++)
        if (!strcmp(member->key, facts_text_keys[i]) && !facts->texts[i])
            return (facts->texts[i] = strdup(member->value)) != NULL;
    for (unsigned i = 0; i < FACTS_COUNTS; i++)
        if (!strcmp(member->key, facts_count_keys[i]))
            return psnap_text_u64(member->value, &facts->counts[i]);
    if (!strcmp(member->key, "fidelity"))
        return psnap_text_real(member->value, &facts->fidelity);
    if (!strcmp(member->key, "signature"))
        return read_signature(member->value, facts->signature);
    if (!strcmp(member->key, "function"))
        return append_function(facts, member->value);
    return true;
}

bool facts_read(const struct repo_bytes *lines, struct facts *facts)
{
    struct lines_member member;
    size_t at;

    *facts = (struct facts){.fidelity = NAN};
    if (!lines_begin(lines, FIRST_LINE, &at))
        return false;
    while (lines_next(lines, &at, &member))
        if (!read_member(facts, &member)) {
            facts_release(facts);
            return false;
        }
    return true;
}

void facts_release(struct facts *facts)
{
    for (unsigned i = 0; i < FACTS_TEXTS; i++)
        free(facts->texts[i]);
    *facts = (struct facts){.fidelity = NAN};
}
