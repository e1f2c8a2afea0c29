/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Results of a work list: a file for each item, named by the hash of all that it follows from (its
 * key), so that neither another's result nor a stale one is ever taken:
 *
 *     XXH3 of the rest, 128 bits in hexadecimal digits
 *     KEY
 *     what psnap sim --csv prints
 *
 * The key has an input by the hash of its content: a copy of a file has the results of the file.
 * Results appear whole, by rename, and are never changed: any number of processes may make them in
 * one folder. A damaged one is made anew.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "formats/base/cmd_csv.h"
#include "formats/base/output.h"
#include "predict/cmd_edited.h"
#include "predict/worklist/cmd_worklist.h"
#include "simcore/cmd_side.h"
#include "simcore/cmd_sim.h"

enum { HASH_LINE = sizeof(struct hash_text) }; /* bytes of the first line */

struct hash_text worklist_hash(const void *bytes, size_t size)
{
    const XXH128_hash_t hash = XXH3_128bits(bytes, size);
    struct hash_text text;

    snprintf(text.digits, sizeof text.digits, "%016" PRIx64 "%016" PRIx64, (uint64_t)hash.high64,
             (uint64_t)hash.low64);
    return text;
}

/* Hashes an input, which may be longer than memory: each block with the hash before it. */
static enum psnap_status hash_input(const struct input *input, struct hash_text *hash,
                                    struct psnap_error *error)
{
    FILE *file = psnap_input_file(input->path, error);
    char block[sizeof *hash + (1 << 16)];
    size_t n;

    if (!file)
        return error->code;
    *hash = worklist_hash("", 0);
    while ((n = fread(block + sizeof *hash, 1, 1 << 16, file))) {
        memcpy(block, hash, sizeof *hash);
        *hash = worklist_hash(block, sizeof *hash + n);
    }
    if (ferror(file)) {
        psnap_error_file(error, EIO, "read", input->path);
        *hash->digits = '\0';
    }
    fclose(file);
    return *hash->digits ? PSNAP_OK : error->code;
}

/* ------------------------------------------------------------------- files */

/* The key of an item's result, a line, and its path, for the caller to free. */
static enum psnap_status locate(const struct worklist *list, const struct item *item, char **key,
                                char **path, struct psnap_error *error)
{
    struct input *input = item->input;

    if (!*input->hash.digits && hash_input(input, &input->hash, error))
        return error->code;
    if (asprintf(key, "%s|%s|%s|%s|%" PRIu64 "|%d|%" PRIu64 "|%s\n", SIDE_MAKER,
                 input->is_profile ? "profile" : "trace", input->hash.digits,
                 list->machine_hash.digits, item->seed, list->by_loop, list->accesses,
                 item->edit) >= 0) {
        if (asprintf(path, "%s/%s", list->folder, worklist_hash(*key, strlen(*key)).digits) >= 0)
            return PSNAP_OK;
        free(*key);
    }
    psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for a result");
    return PSNAP_ERROR_MEMORY;
}

char *worklist_content(const char *path, size_t *size)
{
    FILE *file = fopen(path, "re");
    char *text = file ? psnap_cmd_content(file, size) : NULL;

    if (file)
        fclose(file);
    return text;
}

char *result_read(const struct worklist *list, const struct item *item, bool tells)
{
    char *key, *path, *text, *rows = NULL;
    struct psnap_error error;
    size_t size = 0;

    if (locate(list, item, &key, &path, &error))
        return NULL;
    text = worklist_content(path, &size);
    if (text && size >= HASH_LINE && !strncmp(text + HASH_LINE, key, strlen(key)) &&
        !strncmp(text, worklist_hash(text + HASH_LINE, size - HASH_LINE).digits, HASH_LINE - 1))
        rows = strdup(text + HASH_LINE + strlen(key));
    else if (text && tells)
        psnap_print(stderr, "psnap sweep: %s: it is damaged, and made again\n", path);
    free(text);
    free(key);
    free(path);
    return rows;
}

/* -------------------------------------------------------------- simulating */

/* An item on its way through the machines. */
struct pass {
    const struct worklist *list;
    const struct item *item;
    const char *key;
    char *text; /* of its result, from the key on; owned */
    size_t size;
};

/* Simulates a stream by one thread: other items are at work meanwhile. */
static enum psnap_status run_pass(void *context, struct psnap_source *source,
                                  struct psnap_error *error)
{
    struct pass *pass = context;
    const struct worklist *list = pass->list;
    struct sim_report report = {.machines = list->machines, .machine_count = list->machine_count};
    struct psnap_sink *sim =
        psnap_sim_new(list->machines, list->machine_count, source->program, NULL, error);
    enum psnap_status status = sim ? psnap_pump(source, sim, NULL, error) : error->code;
    FILE *file;

    for (int scope = 0; scope < PSNAP_SCOPE_COUNT && !status; scope++)
        if (scope == PSNAP_SCOPE_TOTAL || (scope == PSNAP_SCOPE_LOOP && list->by_loop))
            status = scope_rows_init(&report.scopes[scope], (enum psnap_scope)scope, sim,
                                     list->machine_count, source->program, NULL, error);
    free(pass->text); /* of a pass before this one */
    pass->text = NULL;
    file = open_memstream(&pass->text, &pass->size);
    if (file && !status) {
        fputs(pass->key, file);
        sim_report_csv(&report, file);
    }
    if ((!file || fclose(file)) && !status)
        status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for a result");
    scope_rows_release(&report.scopes[PSNAP_SCOPE_TOTAL]);
    scope_rows_release(&report.scopes[PSNAP_SCOPE_LOOP]);
    psnap_sink_free(sim);
    return status;
}

/* Replays a profile, edited or not. What an edit could not change is said with the first seed. */
static enum psnap_status replay(const struct psnap_profile *profile, struct pass *pass,
                                struct psnap_error *error)
{
    const struct item *item = pass->item;
    struct edited edited = {0};
    enum psnap_status status;
    char prefix[512];

    if (!*item->edit)
        return psnap_turns_replay(profile, item->seed, pass->list->accesses, run_pass, pass, error);
    snprintf(prefix, sizeof prefix, "psnap sweep: %s", item->input->path);
    status = edited_begin(&edited, profile, item->input->path, error);
    if (!status)
        status = edited_change(&edited, item->edit, item->is_first ? prefix : NULL, error);
    if (!status)
        status = edited_replay(&edited, item->seed, pass->list->accesses, run_pass, pass, error);
    edited_release(&edited);
    return status;
}

static enum psnap_status simulate(struct pass *pass, struct psnap_error *error)
{
    const struct input *input = pass->item->input;
    struct psnap_input_options options = PSNAP_INPUT_DEFAULTS;
    struct hash_text now;
    struct psnap_profile *profile;
    enum psnap_status status;
    bool in_turn;

    options.count = pass->list->accesses;
    if (input->is_profile) {
        profile = psnap_input_read_profile(input->path, error);
        status = profile ? replay(profile, pass, error) : error->code;
        psnap_profile_free(profile);
    } else
        status = psnap_turns_pass(input->path, &options, run_pass, pass, &in_turn, error);
    if (!status)
        status = hash_input(input, &now, error);
    if (!status && strcmp(now.digits, input->hash.digits) != 0)
        status = psnap_error_set(error, PSNAP_ERROR_IO, "it was changed while it was simulated");
    return status;
}

enum psnap_status result_make(const struct worklist *list, const struct item *item,
                              struct psnap_error *error)
{
    struct psnap_output *output = NULL;
    char *key, *path;
    enum psnap_status status = locate(list, item, &key, &path, error);
    struct pass pass = {list, item, status ? NULL : key, NULL, 0};

    if (status)
        return status;
    status = simulate(&pass, error);
    if (!status && (output = psnap_output_open(path, true, error)))
        fprintf(psnap_output_file(output), "%s\n%s", worklist_hash(pass.text, pass.size).digits,
                pass.text);
    status = output || status ? psnap_output_finish(output, status, error) : error->code;
    free(pass.text);
    free(key);
    free(path);
    return status;
}

/* --------------------------------------------------------------- the table */

size_t results_table(const struct worklist *list, FILE *file)
{
    size_t missing = 0;
    struct psnap_csv csv;

    psnap_csv_init(&csv, file);
    for (size_t i = 0; i < list->count; i++) {
        const struct item *item = &list->items[i];
        char *rows = result_read(list, item, false), *left = rows, *row = strsep(&left, "\n");
        missing += !rows;
        if (row && i == 0)
            fprintf(file, "input,edit,seed,%s\n", row);
        while ((row = strsep(&left, "\n")) && *row) {
            psnap_csv_text(&csv, item->input->path);
            psnap_csv_text(&csv, item->edit);
            psnap_csv_u64(&csv, item->seed);
            fprintf(file, ",%s", row);
            psnap_csv_end(&csv);
        }
        free(rows);
    }
    return missing;
}
