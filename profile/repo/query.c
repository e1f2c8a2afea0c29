/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The language of `psnap repo search` as conditions in SQL. Nothing of what is asked gets into
 * their text: columns are of a table, values are bound.
 */
#include "profile/repo/query.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/text.h"
#include "profile/profile.h"

const char query_help[] =
    "Lists the profiles that a query finds, in the order of 'psnap repo list'.\n"
    "QUERY is words that must all hold:\n"
    "  spmv                  in program, command, functions, tags or input\n"
    "  name:spmv function:main tag:hpc licence:MIT host:x86 command:-n input:large\n"
    "  build:3f2a id:12ab model:nests language:C compiler:clang recorded>2026-01\n"
    "                        ':' in the text, '=' the whole text; tags are whole\n"
    "  regions>10 working_set>1M accesses<=1G loops=3 bytes<4K fidelity<2\n"
    "                        loads, stores, atomics, too; K M G T are binary\n"
    "  stride:8>0.5          share of accesses by stride: 0, powers of two, random\n"
    "  like:ID               the most similar ones first: strides, sizes, uses of lines\n"
    "  !tag:old              it does not hold; name:\"two words\" holds blanks";

/* A text whose words are looked for, one that is found by its beginning, lines that are whole with
 * '=' or always, numbers. */
enum key_kind { KEY_TEXT, KEY_START, KEY_LINES, KEY_TAGS, KEY_NUMBER, KEY_STRIDE, KEY_LIKE };

static const struct key {
    const char *name, *column;
    enum key_kind kind;
} keys[] = {
    {"name", "program", KEY_TEXT},
    {"program", "program", KEY_TEXT},
    {"function", "functions", KEY_LINES},
    {"tag", "tags", KEY_TAGS},
    {"licence", "licence", KEY_TEXT},
    {"license", "licence", KEY_TEXT},
    {"host", "host", KEY_TEXT},
    {"command", "command", KEY_TEXT},
    {"input", "input", KEY_TEXT},
    {"model", "model", KEY_TEXT},
    {"language", "language", KEY_TEXT},
    {"compiler", "compiler", KEY_TEXT},
    {"recorded", "recorded", KEY_TEXT},
    {"added", "added", KEY_TEXT},
    {"build", "build_id", KEY_START},
    {"id", "id", KEY_START},
    {"accesses", "accesses", KEY_NUMBER},
    {"loads", "loads", KEY_NUMBER},
    {"stores", "stores", KEY_NUMBER},
    {"atomics", "atomics", KEY_NUMBER},
    {"loops", "loops", KEY_NUMBER},
    {"regions", "regions", KEY_NUMBER},
    {"working_set", "working_set", KEY_NUMBER},
    {"bytes", "bytes", KEY_NUMBER},
    {"fidelity", "coalesce(stated, certified)", KEY_NUMBER},
    {"stride", NULL, KEY_STRIDE},
    {"like", NULL, KEY_LIKE},
};
enum { KEY_COUNT = sizeof keys / sizeof keys[0] };

/* A word, taken apart: "!regions>=10". */
struct word {
    bool is_not;
    const struct key *key; /* NULL: none, the text is the value */
    const char *operation; /* of SQL, or ":" */
    const char *value;
};

/* The operator that a text begins with, which it goes beyond; NULL: none. */
static const char *take_operator(const char **text)
{
    static const char *const operators[] = {"<=", ">=", "<", ">", "=", ":"};

    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++)
        if (!strncmp(*text, operators[i], strlen(operators[i]))) {
            *text += strlen(operators[i]);
            return operators[i];
        }
    return NULL;
}

static enum psnap_status take_key(struct word *word, struct psnap_error *error)
{
    const char *text = word->value, *names[KEY_COUNT], *nearest;
    const size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz_");
    const char *behind = text + length;
    char name[32];

    word->operation = length ? take_operator(&behind) : NULL;
    if (!word->operation)
        return PSNAP_OK;
    snprintf(name, sizeof name, "%.*s", (int)(length < 31 ? length : 31), text);
    for (size_t i = 0; i < KEY_COUNT; i++) {
        names[i] = keys[i].name;
        if (!strcmp(keys[i].name, name))
            word->key = &keys[i];
    }
    word->value = behind;
    if (word->key)
        return PSNAP_OK;
    nearest = psnap_text_nearest(name, names, KEY_COUNT);
    return psnap_error_set(error, PSNAP_ERROR_USAGE, "a query knows no '%s'%s%s%s", name,
                           nearest ? "; did you mean '" : "", nearest ? nearest : "",
                           nearest ? "'?" : "");
}

/* Adds a condition and the values of its places. */
static enum psnap_status add(struct query *query, const struct word *word, const char *condition,
                             const char *value, const char *second, struct psnap_error *error)
{
    const char *const values[] = {value, second};
    char *where;

    if (query->count + 2 > QUERY_VALUES)
        return psnap_error_set(error, PSNAP_ERROR_USAGE, "a query has %d words at most",
                               QUERY_VALUES - 1);
    for (int i = 0; i < 2 && values[i]; i++)
        query->values[query->count++] = strdup(values[i]);
    if (!query->values[query->count - 1] ||
        asprintf(&where, "%s AND %s(%s)", query->where ? query->where : "",
                 word->is_not ? "NOT " : "", condition) < 0)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    free(query->where);
    query->where = where;
    return PSNAP_OK;
}

static enum psnap_status add_text(struct query *query, const struct word *word,
                                  struct psnap_error *error)
{
    const struct key *key = word->key;
    const bool is_equal = *word->operation == '=', has = *word->operation == ':';
    const char *separator = key->kind == KEY_TAGS ? "' '" : "char(10)";
    char condition[160];

    if (key->kind == KEY_TAGS || (key->kind == KEY_LINES && is_equal))
        snprintf(condition, sizeof condition, "instr(coalesce(%s, ''), %s || ? || %s) > 0",
                 key->column, separator, separator);
    else if (has)
        snprintf(condition, sizeof condition, "instr(lower(coalesce(%s, '')), lower(?)) %s",
                 key->column, key->kind == KEY_START ? "= 1" : "> 0");
    else
        snprintf(condition, sizeof condition, "coalesce(%s, '') <> '' AND %s %s ?", key->column,
                 key->column, word->operation);
    return add(query, word, condition, word->value, NULL, error);
}

static enum psnap_status add_number(struct query *query, const struct word *word,
                                    struct psnap_error *error)
{
    char condition[96], text[32];
    uint64_t size;
    double real;

    if (psnap_text_size(word->value, &size) && size <= INT64_MAX)
        snprintf(text, sizeof text, "%" PRIu64, size);
    else if (psnap_text_real(word->value, &real))
        psnap_text_from_real(real, text);
    else
        return psnap_error_set(error, PSNAP_ERROR_USAGE,
                               "%s: '%.100s' is not a number such as 4096, 32K, 1M or 0.5",
                               word->key->name, word->value);
    snprintf(condition, sizeof condition, "%s %s CAST(? AS NUMERIC)", word->key->column,
             *word->operation == ':' ? "=" : word->operation);
    return add(query, word, condition, text, NULL, error);
}

/* "8>0.5", "random<=0.1", "64" (more than nothing) */
static enum psnap_status add_stride(struct query *query, const struct word *word,
                                    struct psnap_error *error)
{
    const size_t length = strcspn(word->value, "<>=");
    const char *share = word->value + length, *operation = take_operator(&share);
    char condition[96], bin[8] = "";
    double real;

    for (unsigned i = 0; i < PSNAP_STRIDE_BINS; i++)
        if (strlen(psnap_stride_label(i)) == length &&
            !strncmp(psnap_stride_label(i), word->value, length))
            snprintf(bin, sizeof bin, "%u", i);
    if (!*bin || *word->operation != ':' || (operation && !psnap_text_real(share, &real)))
        return psnap_error_set(error, PSNAP_ERROR_USAGE,
                               "'%.100s' is no stride:BIN>SHARE; bins are 0, 1, 2, 4 to 256, the "
                               "same with a minus, and random",
                               word->value);
    snprintf(condition, sizeof condition, "share(signature, CAST(? AS INTEGER)) %s CAST(? AS REAL)",
             operation ? operation : ">");
    return add(query, word, condition, bin, operation ? share : "0", error);
}

static enum psnap_status add_word(struct query *query, const char *text, struct psnap_error *error)
{
    struct word word = {.is_not = *text == '!' && text[1]};

    word.value = text + word.is_not;
    if (take_key(&word, error))
        return error->code;
    if (!*word.value)
        return psnap_error_set(error, PSNAP_ERROR_USAGE, "'%s' is asked for nothing", text);
    if (!word.key)
        return add(query, &word,
                   "instr(lower(coalesce(program, '') || char(10) || coalesce(command, '') ||"
                   " coalesce(functions, '') || coalesce(tags, '') || coalesce(input, '')),"
                   " lower(?)) > 0",
                   word.value, NULL, error);
    if (word.key->kind == KEY_STRIDE)
        return add_stride(query, &word, error);
    if (word.key->kind == KEY_NUMBER)
        return add_number(query, &word, error);
    if (word.key->kind != KEY_LIKE)
        return add_text(query, &word, error);
    if (word.is_not || query->like || *word.operation != ':')
        return psnap_error_set(error, PSNAP_ERROR_USAGE, "like:ID stands once, and not behind '!'");
    query->like = strdup(word.value);
    return query->like ? PSNAP_OK : psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
}

enum psnap_status query_parse(struct query *query, const char *text, struct psnap_error *error)
{
    char *word = strdup(text);
    enum psnap_status status =
        word ? PSNAP_OK : psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");

    while (!status && *(text += strspn(text, " \t\n"))) {
        bool is_quoted = false;
        size_t n = 0;
        for (; *text && (is_quoted || !strchr(" \t\n", *text)); text++)
            if (*text == '"')
                is_quoted = !is_quoted;
            else
                word[n++] = *text;
        word[n] = '\0';
        status = is_quoted ? psnap_error_set(error, PSNAP_ERROR_USAGE, "a '\"' is not closed")
                           : add_word(query, word, error);
    }
    free(word);
    return status;
}

void query_release(struct query *query)
{
    while (query->count)
        free(query->values[--query->count]);
    free(query->where);
    free(query->like);
    *query = (struct query){.where = NULL};
}
