/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap repo verify and gc.
 *
 * JSON of verify: {files, profiles, notes, ok, findings: [{kind: "damaged"|"mended"|"stranger",
 * file, id, message}]}; of gc: the counts.
 */
#include <inttypes.h>
#include <math.h>

#include "profile/repo/cmd_repo.h"
#include "profile/repo/gc.h"
#include "profile/repo/verify.h"

static const char *const kinds[] = {
    [FOUND_STRANGER] = "stranger", [FOUND_MENDED] = "mended", [FOUND_DAMAGED] = "damaged"};

struct report {
    struct psnap_json *json; /* NULL: for people */
};

static void print_finding(void *context, const struct finding *finding)
{
    struct psnap_json *json = ((struct report *)context)->json;

    if (!json) {
        psnap_print(stdout, "%s: %s: %s\n", finding->path,
                    finding->kind == FOUND_MENDED ? "damaged, can be mended" : kinds[finding->kind],
                    finding->message);
        return;
    }
    psnap_json_begin_object(json, NULL);
    psnap_json_text(json, "kind", kinds[finding->kind]);
    psnap_json_text(json, "file", finding->path);
    if (finding->profile)
        psnap_json_text(json, "id", finding->profile);
    else
        psnap_json_real(json, "id", NAN);
    psnap_json_text(json, "message", finding->message);
    psnap_json_end_object(json);
}

static void print_result(const struct verify_result *result, bool is_good, struct psnap_json *json)
{
    char digits[4][32];

    if (json) {
        psnap_json_end_array(json);
        psnap_json_bool(json, "ok", is_good);
        psnap_json_u64(json, "files", result->files);
        psnap_json_u64(json, "profiles", result->profiles);
        psnap_json_u64(json, "notes", result->notes);
        psnap_json_u64(json, "mended", result->mended);
        psnap_json_u64(json, "damaged", result->damaged);
        repo_cmd_end_json(json);
        return;
    }
    psnap_print(stdout,
                "%s profile%s in %s file%s: ", psnap_group_digits(result->profiles, digits[0]),
                psnap_plural(result->profiles), psnap_group_digits(result->files, digits[1]),
                psnap_plural(result->files));
    if (is_good)
        puts("ok");
    else if (!result->damaged)
        psnap_print(stdout, "%s damaged, nothing is lost: 'psnap repo gc' mends it\n",
                    psnap_group_digits(result->mended, digits[2]));
    else
        psnap_print(stdout, "%s damaged for good, %s that can be mended\n",
                    psnap_group_digits(result->damaged, digits[3]),
                    psnap_group_digits(result->mended, digits[2]));
}

static int verify(const char *path, bool is_deep, bool as_json)
{
    struct psnap_error error;
    struct psnap_json json;
    struct report report = {as_json ? &json : NULL};
    struct verify_result result;
    struct repo *repo = repo_open(path, &error);
    bool is_good;

    if (!repo)
        return psnap_cmd_fail("repo verify", &error);
    if (as_json) {
        repo_cmd_begin_json(&json, stdout, "repo verify");
        psnap_json_begin_array(&json, "findings");
    }
    is_good = !repo_verify(repo, is_deep, print_finding, &report, &result, &error);
    repo_close(repo);
    if (!is_good) {
        if (as_json)
            print_result(&result, false, &json);
        psnap_cmd_fail_in_json(false); /* its object has begun */
        return psnap_cmd_fail("repo verify", &error);
    }
    is_good = !result.mended && !result.damaged;
    print_result(&result, is_good, report.json);
    return psnap_cmd_close_stdout("repo verify", is_good ? PSNAP_EXIT_DONE : PSNAP_EXIT_FAILED);
}

int psnap_cmd_repo_verify(int argc, char **argv)
{
    bool as_json = false, is_deep = false;
    const struct psnap_option options[] = {
        {PSNAP_OPTION_FLAG, 0, "deep", &is_deep, NULL,
         "parse each profile as well, and compare what is said of it"},
        {PSNAP_OPTION_FLAG, 0, "json", &as_json, NULL, "for programs"},
        {.type = PSNAP_OPTION_END},
    };
    const struct psnap_usage usage = {
        "psnap repo verify DIR [--deep] [--json]",
        "Reads everything and names what is damaged, and which profiles are lost. Exit\n"
        "status 1 when anything is. A flipped byte, or a few together, are damage that\n"
        "loses nothing: it is undone whenever the file is read, and by 'psnap repo gc' in\n"
        "the file.",
        options};
    int status;
    const int operands = psnap_options_parse(argc, argv, &usage, false, &status);

    if (operands < 0)
        return status;
    if (operands != 1)
        return psnap_cmd_usage("repo verify", "one repository is needed, not %d", operands);
    return verify(argv[1], is_deep, as_json);
}

static void print_gc(const struct gc_result *r, bool as_json)
{
    const struct {
        const char *name, *words;
        uint64_t value;
    } rows[] = {
        {"bytes_before", "bytes of objects before", r->bytes_before},
        {"bytes_after", "bytes of objects after", r->bytes_after},
        {"merged", "files merged", r->merged},
        {"written", "files written", r->written},
        {"mended", "damaged files mended", r->mended},
        {"damaged", "damaged files that stay", r->damaged},
        {"copies", "second copies left out", r->twins},
        {"notes", "notes replaced by later ones", r->notes},
        {"dictionaries", "dictionaries removed", r->dictionaries},
        {"temporaries", "temporary files removed", r->temporaries},
    };
    struct psnap_json json;
    char digits[32];

    if (as_json)
        repo_cmd_begin_json(&json, stdout, "repo gc");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (as_json)
            psnap_json_u64(&json, rows[i].name, rows[i].value);
        else if (rows[i].value || i < 2)
            psnap_print(stdout, "%-30s %14s\n", rows[i].words,
                        psnap_group_digits(rows[i].value, digits));
    if (as_json)
        repo_cmd_end_json(&json);
}

int psnap_cmd_repo_gc(int argc, char **argv)
{
    struct gc_options options = {0};
    bool as_json = false;
    const struct psnap_option table[] = {
        {PSNAP_OPTION_FLAG, 0, "forget", &options.forgets, NULL,
         "give up what is lost: of files that are damaged for good\nwhat can be read is kept, and "
         "they go; verify no longer\nmisses anything"},
        {PSNAP_OPTION_FLAG, 0, "json", &as_json, NULL, "for programs"},
        {.type = PSNAP_OPTION_END},
    };
    const struct psnap_usage usage = {
        "psnap repo gc DIR [--forget] [--json]",
        "Merges small files into larger ones, compresses better what was added before there\n"
        "was a dictionary, writes damaged files anew where nothing is lost, and removes what\n"
        "nobody needs: second copies, notes that were replaced, dictionaries, and\n"
        "temporary files of processes that died. No profile that can be read goes.",
        table};
    struct psnap_error error;
    struct gc_result result;
    struct repo *repo;
    int status;
    const int operands = psnap_options_parse(argc, argv, &usage, false, &status);

    if (operands < 0)
        return status;
    if (operands != 1)
        return psnap_cmd_usage("repo gc", "one repository is needed, not %d", operands);
    repo = repo_open(argv[1], &error);
    if (!repo)
        return psnap_cmd_fail("repo gc", &error);
    if (repo_gc(repo, NULL, &options, &result, &error))
        status = psnap_cmd_fail("repo gc", &error);
    else
        print_gc(&result, as_json);
    repo_close(repo);
    return psnap_cmd_close_stdout("repo gc", status);
}
