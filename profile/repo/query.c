/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The language of `psnap repo search` (query.h) as SQL conditions. Nothing of what is asked gets
 * into the SQL text: keys are of a table, values are bound.
 */
#include "profile/repo/query.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/base/text.h"

const char query_help[] =
    "QUERY is words that must all hold:\n"
    "  spmv                  in program, command, functions, tags or input\n"
    "  name:spmv function:main tag:hpc licence:MIT host:x86 command:-n input:large\n"
    "  build:3f2a id:12ab model:nests language:C compiler:clang recorded>2026-01\n"
    "                        ':' in the text, '=' the whole text; tags are whole\n"
    "  regions>10 working_set>1M accesses<=1G loops=3 bytes<4K fidelity<2\n"
    "                        loads, stores, atomics, too; K M G T are binary\n"
    "  stride:8>0.5          share of accesses by stride: 0, powers of two, random\n"
    "  like:ID               the most similar ones first, by strides, sizes, reuse\n"
    "  !tag:old              it does not hold; name:\"two words\" holds blanks";

enum key_kind {
    KEY_TEXT,
    KEY_TIME,
    KEY_TAG,
    KEY_FUNCTION,
    KEY_START,
    KEY_NUMBER,
    KEY_REAL,
    KEY_STRIDE,
    KEY_LIKE
};

static const struct key {
    const char *name, *column;
    enum key_kind kind;
} keys[] = {
    {"name", "program", KEY_TEXT},
    {"program", "program", KEY_TEXT},
    {"function", "functions", KEY_FUNCTION},
    {"tag", "tags", KEY_TAG},
    {"licence", "licence", KEY_TEXT},
    {"license", "licence", KEY_TEXT},
    {"host", "host", KEY_TEXT},
    {"command", "command", KEY_TEXT},
    {"input", "input", KEY_TEXT},
    {"model", "model", KEY_TEXT},
    {"language", "language", KEY_TEXT},
    {"compiler", "compiler", KEY_TEXT},
    {"recorded", "recorded", KEY_TIME},
    {"added", "added", KEY_TIME},
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
    {"fidelity", "coalesce(stated, certified)", KEY_REAL},
    {"stride", "signature", KEY_STRIDE},
    {"like", "signature", KEY_LIKE},
};
enum { KEY_COUNT = sizeof keys / sizeof keys[0] };

enum operator{ IS_LESS, IS_AT_MOST, IS_MORE, IS_AT_LEAST, IS_EQUAL, HAS };
static const char *const operator_sql[] = {"<", "<=", ">", ">=", "=", "="};

struct word {
    struct query *query;
    const struct key *key;
    enum operator op;
    const char *value;
    struct psnap_error *error;
};

static enum psnap_status refuse(const struct word *word, const char *format, ...)
    PSNAP_PRINTF(2, 3);
static enum psnap_status refuse(const struct word *word, const char *format, ...)
{
    char message[300];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return psnap_error_set(word->error, PSNAP_ERROR_USAGE, "%s", message);
}

/* The value of a "?" in the SQL text. */
static enum psnap_status add_value(struct word *word, const struct db_value *value)
{
    struct index_query *ask = &word->query->ask;

    if (ask->count >= DB_VALUES_MAX)
        return refuse(word, "a query has %d words at most", DB_VALUES_MAX);
    ask->values[ask->count++] = *value;
    return PSNAP_OK;
}

static enum psnap_status add_text(struct word *word, const char *format, ...) PSNAP_PRINTF(2, 3);
static enum psnap_status add_text(struct word *word, const char *format, ...)
{
    struct query *query = word->query;
    struct db_value value = {.type = 't'};
    va_list arguments;
    char *text;
    int size;

    va_start(arguments, format);
    size = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (size < 0)
        return psnap_error_set(word->error, PSNAP_ERROR_MEMORY, "out of memory");
    if (query->text_count >= DB_VALUES_MAX) {
        free(text);
        return refuse(word, "a query has %d words at most", DB_VALUES_MAX);
    }
    query->texts[query->text_count++] = text;
    value.text = text;
    return add_value(word, &value);
}

static void add_sql(struct word *word, const char *format, ...) PSNAP_PRINTF(2, 3);
static void add_sql(struct word *word, const char *format, ...)
{
    char sql[600];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(sql, sizeof sql, format, arguments);
    va_end(arguments);
    repo_bytes_print(&word->query->ask.where, "%s", sql);
}

static enum psnap_status parse_text(struct word *word)
{
    const struct key *key = word->key;

    if (key->kind == KEY_TIME && word->op != HAS) {
        add_sql(word, "coalesce(%s, '') <> '' AND %s %s ?", key->column, key->column,
                operator_sql[word->op]);
        return add_text(word, "%s", word->value);
    }
    if (word->op < IS_EQUAL)
        return refuse(word, "'%s' is a text: ':' or '=' it takes, not '%s'", key->name,
                      operator_sql[word->op]);
    if (key->kind == KEY_TAG || (key->kind == KEY_FUNCTION && word->op == IS_EQUAL)) {
        add_sql(word, "instr(coalesce(%s, ''), ?) > 0", key->column);
        return add_text(word, "\n%s\n", word->value);
    }
    if (word->op == IS_EQUAL)
        add_sql(word, "coalesce(%s, '') = ?", key->column);
    else if (key->kind == KEY_START)
        add_sql(word, "instr(coalesce(%s, ''), lower(?)) = 1", key->column);
    else
        add_sql(word, "instr(lower(coalesce(%s, '')), lower(?)) > 0", key->column);
    return add_text(word, "%s", word->value);
}

static enum psnap_status parse_number(struct word *word)
{
    struct db_value value = {.type = 'i'};
    uint64_t number;

    if (!psnap_text_size(word->value, &number) || number > INT64_MAX)
        return refuse(word, "%s: '%.100s' is not a number such as 4096, 32K or 1M", word->key->name,
                      word->value);
    value.integer = (int64_t)number;
    add_sql(word, "%s %s ?", word->key->column, operator_sql[word->op]);
    return add_value(word, &value);
}

static enum psnap_status parse_real(struct word *word)
{
    struct db_value value = {.type = 'r'};

    if (!psnap_text_real(word->value, &value.real))
        return refuse(word, "%s: '%.100s' is not a number", word->key->name, word->value);
    add_sql(word, "%s %s ?", word->key->column, operator_sql[word->op]);
    return add_value(word, &value);
}

/* "8>0.5", "random<=0.1", "64" (more than nothing) */
static enum psnap_status parse_stride(struct word *word)
{
    const char *text = word->value;
    const size_t length = strcspn(text, "<>=");
    struct db_value bin = {.type = 'i', .integer = -1}, share = {.type = 'r'};
    enum operator op = IS_MORE;
    enum psnap_status status;

    for (unsigned i = 0; i < PSNAP_STRIDE_BINS; i++)
        if (strlen(psnap_stride_label(i)) == length &&
            !strncmp(psnap_stride_label(i), text, length))
            bin.integer = i;
    if (bin.integer < 0 || word->op != HAS)
        return refuse(word, "a stride is stride:BIN>SHARE; bins are 0, 1, 2, 4 to 256, the same "
                            "with a minus, and random");
    text += length;
    if (*text) {
        const bool is_or_equal = text[0] != '=' && text[1] == '=';
        op = text[0] == '='   ? IS_EQUAL
             : text[0] == '<' ? (is_or_equal ? IS_AT_MOST : IS_LESS)
                              : (is_or_equal ? IS_AT_LEAST : IS_MORE);
        if (!psnap_text_real(text + 1 + is_or_equal, &share.real))
            return refuse(word, "stride: '%.100s' is not a share such as 0.5", text);
    }
    add_sql(word, "share(signature, ?) %s ?", operator_sql[op]);
    status = add_value(word, &bin);
    return status ? status : add_value(word, &share);
}

static enum psnap_status parse_bare(struct word *word)
{
    add_sql(word, "instr(lower(coalesce(program, '') || char(10) || coalesce(command, '') ||"
                  " coalesce(functions, '') || coalesce(tags, '') || coalesce(input, '')),"
                  " lower(?)) > 0");
    return add_text(word, "%s", word->value);
}

static enum psnap_status parse_keyed(struct word *word)
{
    switch (word->key->kind) {
    case KEY_NUMBER:
        return parse_number(word);
    case KEY_REAL:
        return parse_real(word);
    case KEY_STRIDE:
        return parse_stride(word);
    default:
        return parse_text(word);
    }
}

/* The key and operator that a word begins with; its value stays. */
static enum psnap_status find_key(struct word *word)
{
    const char *text = word->value, *names[KEY_COUNT], *nearest;
    const size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz_");
    const char *at = text + length;
    char name[32];

    if (!length || !*at || !strchr(":=<>", *at))
        return PSNAP_OK;
    snprintf(name, sizeof name, "%.*s", (int)(length < 31 ? length : 31), text);
    for (size_t i = 0; i < KEY_COUNT && !word->key; i++) {
        names[i] = keys[i].name;
        if (!strcmp(keys[i].name, name))
            word->key = &keys[i];
    }
    if (!word->key) {
        nearest = psnap_text_nearest(name, names, KEY_COUNT);
        return refuse(word, "a query knows no '%s'%s%s%s", name, nearest ? "; did you mean '" : "",
                      nearest ? nearest : "", nearest ? "'?" : "");
    }
    if (*at == ':')
        word->op = HAS;
    else if (*at == '=')
        word->op = IS_EQUAL;
    else if (at[1] == '=')
        word->op = *at++ == '<' ? IS_AT_MOST : IS_AT_LEAST;
    else
        word->op = *at == '<' ? IS_LESS : IS_MORE;
    word->value = at + 1;
    return *word->value ? PSNAP_OK : refuse(word, "'%s' is asked for nothing", text);
}

static enum psnap_status parse_word(struct query *query, const char *text,
                                    struct psnap_error *error)
{
    struct word word = {.query = query, .op = HAS, .value = text, .error = error};
    const bool is_not = *text == '!' && text[1];
    enum psnap_status status;

    word.value += is_not;
    status = find_key(&word);
    if (status)
        return status;
    if (word.key && word.key->kind == KEY_LIKE) {
        if (is_not || query->like || word.op != HAS)
            return refuse(&word, "like:ID stands once, and not behind '!'");
        query->like = strdup(word.value);
        return query->like ? PSNAP_OK : psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    }
    add_sql(&word, "%s%s(", query->ask.where.size ? " AND " : "", is_not ? "NOT " : "");
    status = word.key ? parse_keyed(&word) : parse_bare(&word);
    add_sql(&word, ")");
    if (!status && query->ask.where.is_short)
        status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    return status;
}

enum psnap_status query_parse(struct query *query, const char *text, struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;
    char word[512];

    while (!status && *text) {
        size_t n = 0;
        bool is_quoted = false;
        text += strspn(text, " \t\n");
        for (; *text && (is_quoted || !strchr(" \t\n", *text)); text++) {
            if (*text == '"')
                is_quoted = !is_quoted;
            else if (n < sizeof word - 1)
                word[n++] = *text;
            else
                return psnap_error_set(error, PSNAP_ERROR_USAGE,
                                       "a word of a query has up to %zu bytes", sizeof word - 1);
        }
        word[n] = '\0';
        if (is_quoted)
            return psnap_error_set(error, PSNAP_ERROR_USAGE, "a '\"' is not closed");
        if (n)
            status = parse_word(query, word, error);
    }
    return status;
}

enum psnap_status query_settle(struct query *query, struct index *index, struct psnap_error *error)
{
    struct repo_id id;
    enum psnap_status status;

    if (!query->like)
        return PSNAP_OK;
    status = index_find(index, query->like, &id, error);
    if (!status)
        status = index_signature(index, &id, query->ask.like, error);
    query->ask.is_like = true;
    return status;
}

void query_release(struct query *query)
{
    for (size_t i = 0; i < query->text_count; i++)
        free(query->texts[i]);
    free(query->like);
    repo_bytes_release(&query->ask.where);
    *query = (struct query){0};
}
