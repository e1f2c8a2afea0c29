/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What comes again in a schedule: the sweeps of a solver on the way down and up again, the same
 * kernel called from several places. Items that would be the same text, numbers of all repeats
 * around them included, are one symbol; the schedule and the bodies of its repeats are lists of
 * these. Of all sequences of symbols that are there twice without overlap the one that takes most
 * lines becomes a nest, a symbol with a list of its own; then the next, until what is left is
 * short. That is the grammar of longest first, as in A. Apostolico and S. Lonardi, "Off-line
 * compression by greedy textual substitution", Proc. IEEE 88 (2000).
 */
#include "profile/yaml/write_once.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "formats/base/room.h"

enum {
    LINES_MIN = 8,     /* of what is worth a name */
    SYMBOLS_MAX = 2048 /* of a schedule that is looked through */
};

/* ---- items ---- */

/* What an item is: a pattern, values, and their steps. */
static bool add_key(struct once *once, const struct nest_pattern *pattern, const uint64_t *values,
                    const struct nest_path *path)
{
    const uint32_t depth = path ? path->depth : 0;
    const size_t words = 2 + (size_t)pattern->values * (1 + depth);
    uint64_t *keys =
        psnap_with_room(once->keys, &once->key_room, once->key_count + words, sizeof *keys);

    if (!keys)
        return false;
    once->keys = keys;
    keys += once->key_count;
    once->key_count += words;
    *keys++ = pattern->number;
    *keys++ = depth;
    for (size_t k = 0; k < pattern->values; k++) {
        *keys++ = values[k];
        for (uint32_t up = 0; up < depth; up++)
            *keys++ = nest_step(path, k, up);
    }
    return true;
}

static bool grow_table(struct once *once)
{
    const size_t room = once->table_room ? once->table_room * 2 : 256;
    uint32_t *table = calloc(room, sizeof *table);

    if (!table)
        return false;
    for (size_t i = 0; i < once->item_count; i++) {
        const struct once_item *item = &once->items[i];
        size_t at = XXH3_64bits(&once->keys[item->key], item->words * sizeof *once->keys);
        while (table[at & (room - 1)])
            at++;
        table[at & (room - 1)] = (uint32_t)i + 1;
    }
    free(once->table);
    once->table = table;
    once->table_room = room;
    return true;
}

/* The item whose key has just been put at `key`, which is taken back when there is one; a new one
 * has no lines yet. PSNAP_NONE: out of memory. */
static uint32_t item_of(struct once *once, size_t key)
{
    const size_t words = once->key_count - key;
    const uint64_t *mine = &once->keys[key];
    struct once_item *items;
    size_t at = XXH3_64bits(mine, words * sizeof *mine);

    if (once->item_count * 2 >= once->table_room && !grow_table(once))
        return PSNAP_NONE;
    for (; once->table[at & (once->table_room - 1)]; at++) {
        const uint32_t i = once->table[at & (once->table_room - 1)] - 1;
        if (once->items[i].words == words &&
            !memcmp(&once->keys[once->items[i].key], mine, words * sizeof *mine)) {
            once->key_count = key;
            return i;
        }
    }
    items = psnap_with_room(once->items, &once->item_room, once->item_count + 1, sizeof *items);
    if (!items)
        return PSNAP_NONE;
    once->items = items;
    items[once->item_count] =
        (struct once_item){.key = key, .words = words, .body = PSNAP_NONE, .loop = PSNAP_NONE};
    once->table[at & (once->table_room - 1)] = (uint32_t)++once->item_count;
    return (uint32_t)once->item_count - 1;
}

/* A list with room for so many symbols; PSNAP_NONE: out of memory. */
static uint32_t add_list(struct once *once, size_t room)
{
    struct once_list *lists =
        psnap_with_room(once->lists, &once->list_room, once->list_count + 1, sizeof *lists);
    uint32_t *symbols = calloc(room + 1, sizeof *symbols);

    once->lists = lists ? lists : once->lists;
    if (!lists || !symbols) {
        free(symbols);
        return PSNAP_NONE;
    }
    lists[once->list_count] = (struct once_list){symbols, 0};
    return (uint32_t)once->list_count++;
}

/* Adds the item of a term to a list; false: out of memory. */
static bool add_term(struct once *once, uint32_t list, const struct nest_pattern *pattern,
                     const uint64_t *values, const struct nest_path *path)
{
    struct nest_path inner = {path, pattern, 0, path ? path->depth + 1 : 1};
    const size_t key = once->key_count;
    uint32_t item, body, lines = 2, loop = PSNAP_NONE;

    if (!add_key(once, pattern, values, path) || (item = item_of(once, key)) == PSNAP_NONE)
        return false;
    once->lists[list].symbols[once->lists[list].count++] = item;
    if (once->items[item].lines)
        return true;
    if (!pattern->body_count) {
        once->items[item].lines = pattern->shape->width ? 3 + pattern->shape->width : 1;
        once->items[item].loop = pattern->shape->width ? pattern->shape->loop : PSNAP_NONE;
        return true;
    }
    body = add_list(once, pattern->body_count);
    for (uint32_t i = 0; i < pattern->body_count; inner.at += pattern->body[i++]->values)
        if (body == PSNAP_NONE ||
            !add_term(once, body, pattern->body[i], values + 1 + inner.at, &inner))
            return false;
    for (uint32_t i = 0; i < pattern->body_count; i++) {
        const struct once_item *of = &once->items[once->lists[body].symbols[i]];
        lines += of->lines;
        loop = loop == PSNAP_NONE ? of->loop : loop;
    }
    once->items[item].lines = lines;
    once->items[item].loop = loop;
    once->items[item].body = body;
    return true;
}

/* ---- nests ---- */

static uint32_t lines_of(const struct once *once, uint32_t symbol)
{
    return symbol & ONCE_NEST ? 1 : once->items[symbol].lines;
}

/* All lists one behind the other. */
struct text {
    uint32_t *symbols;
    uint32_t *lines; /* of all symbols before */
    uint32_t *list;  /* of each symbol */
    uint32_t count;
};

static void set_text(const struct once *once, struct text *text)
{
    uint32_t lines = 0;

    text->count = 0;
    for (uint32_t l = 0; l < once->list_count; l++)
        for (uint32_t i = 0; i < once->lists[l].count; i++, text->count++) {
            text->symbols[text->count] = once->lists[l].symbols[i];
            text->list[text->count] = l;
            text->lines[text->count] = lines;
            lines += lines_of(once, once->lists[l].symbols[i]);
        }
    text->lines[text->count] = lines;
}

/* The sequence that takes most lines of those that are there again: where it begins and its length,
 * 0 when there is none. `common` is room for twice as many numbers as there are symbols. */
static uint32_t find_most(const struct text *text, uint32_t *common, uint32_t *begin)
{
    const uint32_t n = text->count;
    uint32_t most = LINES_MIN - 1, length = 0, *row = common, *below = common + n + 1;

    memset(common, 0, 2 * ((size_t)n + 1) * sizeof *common);
    for (uint32_t i = n; i-- > 0;) {
        uint32_t *swapped = below;
        for (uint32_t j = i + 1; j < n; j++) {
            uint32_t same = 0, lines;
            if (text->symbols[i] == text->symbols[j]) {
                same = 1;
                if (j + 1 < n && text->list[i + 1] == text->list[i] &&
                    text->list[j + 1] == text->list[j])
                    same += below[j + 1];
            }
            row[j] = same;
            same = text->list[i] == text->list[j] && same > j - i ? j - i : same;
            lines = text->lines[i + same] - text->lines[i];
            if (lines > most) {
                most = lines;
                length = same;
                *begin = i;
            }
        }
        below = row;
        row = swapped;
    }
    return length;
}

/* Puts a nest's symbol wherever its sequence is. */
static void replace(struct once_list *list, const uint32_t *sequence, uint32_t length,
                    uint32_t symbol)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < list->count; kept++) {
        const bool is_it = i + length <= list->count &&
                           !memcmp(&list->symbols[i], sequence, length * sizeof *sequence);
        list->symbols[kept] = is_it ? symbol : list->symbols[i];
        i += is_it ? length : 1;
    }
    list->count = kept;
}

/* The sequence becomes a nest; false: out of memory. */
static bool add_nest(struct once *once, const uint32_t *sequence, uint32_t length)
{
    const uint32_t list = add_list(once, length), symbol = (uint32_t)once->nest_count | ONCE_NEST;
    struct once_nest *nests =
        psnap_with_room(once->nests, &once->nest_room, once->nest_count + 1, sizeof *nests);
    struct once_nest *nest;

    once->nests = nests ? nests : once->nests;
    if (!nests || list == PSNAP_NONE)
        return false;
    for (uint32_t l = 0; l < list; l++)
        replace(&once->lists[l], sequence, length, symbol);
    nest = &nests[once->nest_count++];
    *nest = (struct once_nest){.list = list, .loop = PSNAP_NONE};
    for (uint32_t i = 0; i < length; i++) {
        const uint32_t of = sequence[i];
        const uint32_t loop = of & ONCE_NEST ? nests[of - ONCE_NEST].loop : once->items[of].loop;
        nest->length += of & ONCE_NEST ? nests[of - ONCE_NEST].length : 1;
        nest->loop = nest->loop == PSNAP_NONE ? loop : nest->loop;
    }
    memcpy(once->lists[list].symbols, sequence, length * sizeof *sequence);
    once->lists[list].count = length;
    return true;
}

static bool find_nests(struct once *once)
{
    size_t room = 0;
    struct text text;
    uint32_t *common, *sequence, begin = 0, length;
    bool is_done;

    for (uint32_t l = 0; l < once->list_count; l++)
        room += once->lists[l].count;
    if (room > SYMBOLS_MAX)
        return true;
    room += ONCE_NESTS_MAX; /* each may have one more than it takes */
    text.symbols = malloc((room + 1) * sizeof *text.symbols);
    text.lines = malloc((room + 1) * sizeof *text.lines);
    text.list = malloc((room + 1) * sizeof *text.list);
    common = malloc(2 * (room + 1) * sizeof *common);
    sequence = malloc((room + 1) * sizeof *sequence);
    is_done = text.symbols && text.lines && text.list && common && sequence;
    while (is_done && once->nest_count < ONCE_NESTS_MAX) {
        set_text(once, &text);
        length = find_most(&text, common, &begin);
        if (!length)
            break;
        memcpy(sequence, &text.symbols[begin], length * sizeof *sequence);
        is_done = add_nest(once, sequence, length);
    }
    free(text.symbols);
    free(text.lines);
    free(text.list);
    free(common);
    free(sequence);
    return is_done;
}

/* ---- names ---- */

/* Nests have the name of the function that they begin in, and a number when it is not the only one.
 */
static void name_nest(struct once *once, const struct psnap_profile *profile, uint32_t nest)
{
    struct once_nest *of = &once->nests[nest];
    const char *id = of->loop == PSNAP_NONE ? "nest" : profile->loops[of->loop].id;
    const int length = (int)strcspn(id, ":");
    uint32_t again = 1;

    snprintf(of->name, sizeof of->name, "%.*s", length < 56 ? length : 56, id);
    for (uint32_t i = 0; i < once->nest_count; i++)
        if (i != nest && once->nests[i].name[0] && !strcmp(once->nests[i].name, of->name)) {
            snprintf(of->name, sizeof of->name, "%.*s.%u", length < 56 ? length : 56, id,
                     (unsigned)++again);
            i = UINT32_MAX; /* from the first one on */
        }
}

/* In the order in which they are written. */
static void name_list(struct once *once, const struct psnap_profile *profile, uint32_t list)
{
    for (uint32_t i = 0; i < once->lists[list].count; i++) {
        const uint32_t symbol = once->lists[list].symbols[i];
        if (symbol & ONCE_NEST) {
            if (once->nests[symbol - ONCE_NEST].name[0])
                continue;
            name_nest(once, profile, symbol - ONCE_NEST);
            name_list(once, profile, once->nests[symbol - ONCE_NEST].list);
        } else if (once->items[symbol].body != PSNAP_NONE)
            name_list(once, profile, once->items[symbol].body);
    }
}

struct once *once_new(const struct psnap_profile *profile)
{
    const struct psnap_nests *nests = profile->nests;
    struct once *once = calloc(1, sizeof *once);
    bool is_done = once && add_list(once, nests->count) != PSNAP_NONE;

    for (size_t i = 0; is_done && i < nests->count; i++)
        is_done = add_term(once, 0, nests->terms[i].pattern, nests_values(nests, i), NULL);
    if (is_done && find_nests(once)) {
        name_list(once, profile, 0);
        return once;
    }
    once_free(once);
    return NULL;
}

/* Terms of the schedule, or of a loop. */
struct terms {
    const struct psnap_nests *nests; /* or */
    const struct nest_pattern *loop;
    const uint64_t *values; /* of its first iteration */
    struct nest_path *path; /* to the next one; NULL: none is around */
    uint32_t next;
};

struct visiting {
    struct once *once;
    const struct once_visitor *visitor;
    void *context;
};

static void visit_list(const struct visiting *v, uint32_t list, struct terms *terms);

/* The next term, whose symbol is an item. */
static void visit_term(const struct visiting *v, struct terms *terms, uint32_t item)
{
    struct nest_path *path = terms->path;
    const uint32_t i = terms->next++;
    const struct nest_pattern *pattern =
        terms->nests ? terms->nests->terms[i].pattern : terms->loop->body[i];
    const uint64_t *values =
        terms->nests ? nests_values(terms->nests, i) : terms->values + path->at;

    if (pattern->body_count) {
        struct nest_path inner = {path, pattern, 0, path ? path->depth + 1 : 1};
        struct terms body = {.loop = pattern, .values = values + 1, .path = &inner};
        v->visitor->repeat(v->context, pattern, values, path);
        visit_list(v, v->once->items[item].body, &body);
        v->visitor->end(v->context);
    } else if (pattern->shape->width)
        v->visitor->walk(v->context, pattern, values, path);
    else
        v->visitor->mix(v->context, pattern->shape->loop);
    if (path)
        path->at += pattern->values;
}

/* Terms that have been visited elsewhere are passed over. */
static void pass(struct terms *terms, uint32_t count)
{
    for (; count; count--, terms->next++)
        if (terms->path)
            terms->path->at += terms->loop->body[terms->next]->values;
}

static void visit_list(const struct visiting *v, uint32_t list, struct terms *terms)
{
    for (uint32_t i = 0; i < v->once->lists[list].count; i++) {
        const uint32_t symbol = v->once->lists[list].symbols[i];
        struct once_nest *nest;
        if (!(symbol & ONCE_NEST)) {
            visit_term(v, terms, symbol);
            continue;
        }
        nest = &v->once->nests[symbol - ONCE_NEST];
        if (nest->is_visited) {
            v->visitor->again(v->context, nest->name);
            pass(terms, nest->length);
            continue;
        }
        v->visitor->nest(v->context, nest->name);
        visit_list(v, nest->list, terms);
        v->visitor->end(v->context);
        nest->is_visited = true;
    }
}

void once_visit(struct once *once, const struct psnap_nests *nests,
                const struct once_visitor *visitor, void *context)
{
    const struct visiting v = {once, visitor, context};
    struct terms terms = {.nests = nests};

    visit_list(&v, 0, &terms);
}

void once_free(struct once *once)
{
    if (!once)
        return;
    for (size_t i = 0; i < once->list_count; i++)
        free(once->lists[i].symbols);
    free(once->lists);
    free(once->items);
    free(once->nests);
    free(once->keys);
    free(once->table);
    free(once);
}
