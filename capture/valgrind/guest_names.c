/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What functions and loops are called, and where the source has them.
 *
 * A loop is called after the function and line in which the source has it,
 * wherever it was inlined to, as those that the compiler pass finds. Its line is
 * the least of those of its header and of its jumps back: the `for` or `while`,
 * or the `do`. What has a function inlined into its body keeps its own. No two
 * loops have the same name: where they would, the file or library is added, or
 * a number.
 */
#include "capture/valgrind/guest_code.h"

#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TITLE_BYTES 512

static int compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

static const char *enter_name(struct psnap_guest_code *code, const char *name)
{
    const char *kept = psnap_program_string(code->program, name);

    return kept && tsearch(kept, &code->names.taken, compare_names) ? kept : NULL;
}

/* A name that nothing else has: `text`, or with `where` (may be NULL), or numbered. */
static const char *unique_name(struct psnap_guest_code *code, const char *text, const char *where)
{
    char longer[2 * TITLE_BYTES], name[2 * TITLE_BYTES + 16];

    snprintf(longer, sizeof longer, "%s%s%s", text, where ? "@" : "", where ? where : "");
    snprintf(name, sizeof name, "%s", text);
    if (tfind(name, &code->names.taken, compare_names))
        snprintf(name, sizeof name, "%s", longer);
    for (unsigned n = 2; tfind(name, &code->names.taken, compare_names); n++)
        snprintf(name, sizeof name, "%s#%u", longer, n);
    return enter_name(code, name);
}

/* "libc.so.6+0x1234", or the bare address of code that is in no file. */
static void name_address(char *text, size_t size, const struct psnap_image *image, uint64_t address)
{
    if (image)
        snprintf(text, size, "%s+0x%" PRIx64, image->name, address - image->low);
    else
        snprintf(text, size, "0x%" PRIx64, address);
}

static const char *title_of(struct psnap_guest_code *code, struct psnap_guest_function *function)
{
    struct psnap_place_in_source place;
    char text[TITLE_BYTES];

    if (function->title)
        return function->title;
    place.function[0] = '\0';
    if (!function->symbol)
        name_address(text, sizeof text, function->image, function->low);
    else if (function->image && !strncmp(function->symbol, "_Z", 2))
        psnap_symbols_place(function->image, function->low, true, &place);
    if (function->symbol && place.function[0])
        snprintf(text, sizeof text, "%s", place.function);
    else if (function->symbol) /* without the version that libraries have behind it */
        snprintf(text, sizeof text, "%.*s", (int)strcspn(function->symbol, "@"), function->symbol);
    function->title =
        unique_name(code, text, function->symbol && function->image ? function->image->name : NULL);
    return function->title;
}

/* The better place for a loop: of the function that is inlined into fewer, then the lesser line. */
static bool is_better(const struct psnap_place_in_source *place,
                      const struct psnap_place_in_source *best)
{
    if (!place->line || !best->line)
        return place->line;
    if (place->inlined != best->inlined)
        return place->inlined < best->inlined;
    return place->line < best->line && !strcmp(place->function, best->function) &&
           !strcmp(place->file, best->file);
}

/* The best of the places of a loop's header and its jumps back. */
static void find_place(const struct psnap_guest_code *code, const struct psnap_image *image,
                       uint32_t header, struct psnap_place_in_source *best)
{
    const struct psnap_flow *flow = &code->flow;
    uint32_t n = flow->functions[flow->nodes[header].function].first;

    psnap_symbols_place(image, code->nodes[header].pc, true, best);
    for (; n != PSNAP_FLOW_NONE; n = flow->nodes[n].next)
        for (uint32_t e = flow->nodes[n].first_edge; e != PSNAP_FLOW_NONE;
             e = flow->edges[e].next) {
            struct psnap_place_in_source place;
            if (flow->edges[e].to != header || !psnap_flow_is_inside(flow, n, header))
                continue;
            psnap_symbols_place(image, code->nodes[n].pc, true, &place);
            if (is_better(&place, best))
                *best = place;
        }
}

/* A loop of the source: what it has come from, and the parts of it that have been found. */
struct source {
    const char *key; /* function, line, file, image */
    const char *id;
    unsigned parts;
};

static int compare_sources(const void *a, const void *b)
{
    return strcmp(((const struct source *)a)->key, ((const struct source *)b)->key);
}

/* The loop of the source with this key, called `text` if it can be; NULL when out of memory. */
static struct source *find_source(struct psnap_guest_code *code, const char *key, const char *text,
                                  const char *where)
{
    struct source wanted = {.key = key}, *source;
    struct source *const *known = tfind(&wanted, &code->names.sources, compare_sources);

    if (known)
        return *known;
    source = calloc(1, sizeof *source);
    if (!source)
        return NULL;
    source->key = psnap_program_string(code->program, key);
    source->id = unique_name(code, text, where);
    if (!source->key || !source->id || !tsearch(source, &code->names.sources, compare_sources)) {
        free(source);
        return NULL;
    }
    return source;
}

/* The name of a loop with a line: that of the loop of the source; further parts of it are "f:12.2",
 * "f:12.3". */
static void name_part(struct psnap_guest_code *code, const char *image,
                      const struct psnap_place_in_source *place, struct psnap_loop *loop)
{
    char text[TITLE_BYTES + 32], key[2 * TITLE_BYTES];
    struct source *source;

    snprintf(text, sizeof text, "%s:%" PRIu32, loop->function, place->line);
    snprintf(key, sizeof key, "%s\n%s\n%s", text, place->file, image);
    source = find_source(code, key, text, place->file);
    loop->id = loop->src_id = source ? source->id : NULL;
    if (source && source->parts++) {
        snprintf(text, sizeof text, "%s.%u", source->id, source->parts);
        loop->id = unique_name(code, text, NULL);
    }
}

/* Without a line a loop is "f+0x12" or, without a symbol, "libc.so.6+0x1234". */
static void name_code(struct psnap_guest_code *code, const struct psnap_guest_function *function,
                      uint64_t pc, struct psnap_loop *loop)
{
    char text[TITLE_BYTES + 32];

    if (function->symbol && pc >= function->low)
        snprintf(text, sizeof text, "%s+0x%" PRIx64, loop->function, pc - function->low);
    else
        name_address(text, sizeof text, function->image, pc);
    loop->id = loop->src_id = unique_name(code, text, NULL);
}

bool psnap_guest_name(struct psnap_guest_code *code, uint32_t index, uint32_t header,
                      struct psnap_loop *loop)
{
    struct psnap_guest_function *function = &code->functions[index];
    const bool is_loop = header != PSNAP_FLOW_NONE;
    struct psnap_place_in_source place = {.file = ""};

    loop->id = loop->src_id = loop->function = title_of(code, function);
    if (function->image && is_loop)
        find_place(code, function->image, header, &place);
    else if (function->image)
        psnap_symbols_place(function->image, function->low, false, &place);
    loop->file = psnap_program_string(code->program, place.file);
    loop->src_line = place.line;
    if (place.line && place.function[0])
        loop->function = psnap_program_string(code->program, place.function);
    if (!loop->id || !loop->file || !loop->function)
        return false;
    if (is_loop && place.line)
        name_part(code, function->image->name, &place, loop);
    else if (is_loop)
        name_code(code, function, code->nodes[header].pc, loop);
    return loop->id && loop->src_id;
}

static void no_free(void *name)
{
    (void)name; /* the program's */
}

void psnap_guest_names_release(struct psnap_guest_names *names)
{
    tdestroy(names->taken, no_free);
    tdestroy(names->sources, free);
}
