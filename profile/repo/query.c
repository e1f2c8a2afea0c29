/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The language of `psnap repo search` as conditions in SQL: columns are of a table, operators of a
 * list, and values are quoted.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/text.h"
#include "profile/repo/repo.h"

enum { WORDS_MAX = 64 };

const char query_help[] =
    "Lists the profiles that a query finds, in the order of 'psnap repo list'.\n"
    "QUERY is words that must all hold:\n"
    "  spmv                  in program, command, functions or tags\n"
    "  name:spmv function:main tag:hpc host:x86 command:-n\n"
    "  build:3f2a id:12ab model:nests language:C compiler:clang recorded>2026-01\n"
    "                        ':' in the text, '=' the whole text; tags are whole\n"
    "  regions>10 working_set>1M accesses<=1G loops=3 bytes<4K fidelity<2\n"
    "                        loads, stores, atomics, too; K M G T are binary\n"
    "  !tag:old              it does not hold";

const struct repo_column repo_columns[REPO_COLUMN_COUNT] = {
    {"id", KIND_TEXT},
#define COLUMN(name, kind) {#name, KIND_##kind},
    REPO_COLUMNS(COLUMN){"added", KIND_TEXT},
    {"tags", KIND_TAGS},
};

/* A word, taken apart: "!regions>=10". */
struct word {
    const struct repo_column *key;
    char operation[3]; /* of SQL, or ":" */
    const char *value;
};

/* Columns are known by the beginning of their names: `function`, `tag`. */
static const struct repo_column *find_column(const char *key)
{
    for (size_t i = 0; i < REPO_COLUMN_COUNT; i++)
        if (!strncmp(repo_columns[i].name, strcmp(key, "name") ? key : "program", strlen(key)))
            return &repo_columns[i];
    return NULL;
}

static void put_quoted(FILE *file, const char *text)
{
    fputc('\'', file);
    for (; *text; text++)
        fprintf(file, "%s%c", *text == '\'' ? "'" : "", *text);
    fputc('\'', file);
}

static void put_text(FILE *file, const struct word *word)
{
    const char *column = word->key->name;
    const enum repo_kind kind = word->key->kind;

    if (kind == KIND_TAGS || (kind == KIND_LINES && *word->operation == '=')) {
        const char *separator = kind == KIND_TAGS ? "' '" : "char(10)";
        fprintf(file, "instr(%s || %s, %s || ", separator, column, separator);
        put_quoted(file, word->value);
        fprintf(file, " || %s) > 0", separator);
    } else if (*word->operation == ':') {
        fprintf(file, "instr(lower(%s), lower(", column);
        put_quoted(file, word->value);
        fputs(")) > 0", file);
    } else {
        fprintf(file, "%s <> '' AND %s %s ", column, column, word->operation);
        put_quoted(file, word->value);
    }
}

static enum psnap_status put_number(FILE *file, const struct word *word, struct psnap_error *error)
{
    uint64_t size;
    double real;
    char text[32];

    if (psnap_text_size(word->value, &size) && size <= INT64_MAX)
        snprintf(text, sizeof text, "%" PRIu64, size);
    else if (psnap_text_real(word->value, &real))
        psnap_text_from_real(real, text);
    else
        return psnap_error_set(error, PSNAP_ERROR_USAGE,
                               "%s: '%.100s' is not a number such as 4096, 32K, 1M or 0.5",
                               word->key->name, word->value);
    fprintf(file, "%s %s %s", word->key->name, *word->operation == ':' ? "=" : word->operation,
            text);
    return PSNAP_OK;
}

static enum psnap_status put_word(FILE *file, const char *text, struct psnap_error *error)
{
    static const struct repo_column anything = {
        "program || char(10) || command || char(10) || functions || tags", KIND_TEXT};
    const bool is_not = *text == '!' && text[1];
    struct word word = {&anything, ":", text + is_not};
    enum psnap_status status = PSNAP_OK;
    char key[32] = "", operation[3] = "";
    int length;

    if (sscanf(word.value, "%31[a-z_]%1[:=]%n", key, operation, &length) == 2 ||
        sscanf(word.value, "%31[a-z_]%2[<>=]%n", key, operation, &length) == 2) {
        word = (struct word){.key = find_column(key), .value = word.value + length};
        strcpy(word.operation, operation);
    }
    if (!word.key || strspn(word.operation, "<>") > 1)
        return psnap_error_set(error, PSNAP_ERROR_USAGE,
                               "a query knows no '%s'; 'psnap repo search -h' lists its words",
                               key);
    if (!*word.value)
        return psnap_error_set(error, PSNAP_ERROR_USAGE, "'%s' is asked for nothing", text);
    fprintf(file, " AND %s(", is_not ? "NOT " : "");
    if (word.key->kind == KIND_NUMBER)
        status = put_number(file, &word, error);
    else
        put_text(file, &word);
    fputc(')', file);
    return status;
}

char *query_conditions(const struct repo_query *query, struct psnap_error *error)
{
    char *text = NULL, *words, *rest, *word;
    size_t size, count = 0;
    FILE *file = open_memstream(&text, &size);
    enum psnap_status status = PSNAP_OK;

    if (!file) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    for (size_t i = 0; i < query->count; i++) {
        words = rest = strdup(query->words[i]);
        while (!status && (word = strsep(&rest, " \t\n")))
            if (++count > WORDS_MAX)
                status = psnap_error_set(error, PSNAP_ERROR_USAGE, "a query has %d words at most",
                                         WORDS_MAX);
            else if (*word)
                status = put_word(file, word, error);
        free(words);
    }
    fclose(file);
    if (!status)
        return text;
    free(text);
    return NULL;
}
