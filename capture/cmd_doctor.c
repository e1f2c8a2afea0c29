/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap doctor checks the installation. Its table names each missing program or library, the
 * feature that needs it, and the Debian package that has it. Nothing is installed or changed,
 * nothing is asked for over a network. The exit status is 0 when capture works: a program was
 * compiled, recorded and its profile read. All else has its own exit when it is needed, and is no
 * reason to fail here.
 */
#include "capture/cmd_doctor.h"

#include "formats/base/cmd.h"

static const char *const states[] = {"ok", "missing", "wrong", "limited"};

struct psnap_finding *psnap_finding_add(struct psnap_findings *findings, const char *name,
                                        const char *needed_for)
{
    static struct psnap_finding surplus;
    const size_t room = sizeof findings->list / sizeof findings->list[0];
    struct psnap_finding *finding =
        findings->count < room ? &findings->list[findings->count++] : &surplus;

    *finding = (struct psnap_finding){.name = name, .needed_for = needed_for};
    return finding;
}

static void print_table(const struct psnap_findings *findings)
{
    static const char *const headings[] = {"check", "state", "needed for", "found, or what to do"};
    struct psnap_table *table = psnap_table_new(4, headings);
    size_t wanting = 0;

    for (size_t i = 0; i < findings->count; i++) {
        const struct psnap_finding *finding = &findings->list[i];
        const bool has_hint = finding->health != PSNAP_HEALTH_OK && finding->hint[0];

        wanting += finding->health != PSNAP_HEALTH_OK;
        psnap_table_cell(table, "%s", finding->name);
        psnap_table_cell(table, "%s", states[finding->health]);
        psnap_table_cell(table, "%s", finding->needed_for);
        psnap_table_cell(table, "%s%s%s", finding->found, has_hint && finding->found[0] ? "; " : "",
                         has_hint ? finding->hint : "");
    }
    psnap_table_print(table, stdout);
    psnap_table_free(table);
    psnap_print(stdout, "\ncapture %s", findings->captures ? "works" : "does not work");
    if (wanting)
        psnap_print(stdout,
                    "; %zu check%s found something that is not there or not as it should be",
                    wanting, psnap_plural(wanting));
    putchar('\n');
}

static void print_json(const struct psnap_findings *findings)
{
    struct psnap_json json;

    psnap_cmd_begin_json(&json, stdout, "doctor");
    psnap_json_text(&json, "version", PSNAP_VERSION);
    psnap_json_bool(&json, "captures", findings->captures);
    psnap_json_begin_array(&json, "checks");
    for (size_t i = 0; i < findings->count; i++) {
        const struct psnap_finding *finding = &findings->list[i];

        psnap_json_begin_object(&json, NULL);
        psnap_json_text(&json, "name", finding->name);
        psnap_json_text(&json, "state", states[finding->health]);
        psnap_json_text(&json, "needed_for", finding->needed_for);
        psnap_json_text(&json, "found", finding->found);
        psnap_json_text(&json, "hint", finding->health == PSNAP_HEALTH_OK ? "" : finding->hint);
        psnap_json_end_object(&json);
    }
    psnap_json_end_array(&json);
    psnap_json_end_object(&json);
    putchar('\n');
}

int psnap_cmd_doctor(int argc, char **argv)
{
    static struct psnap_findings findings;
    bool json = false;
    const struct psnap_option options[] = {
        {PSNAP_OPTION_FLAG, 0, "json", &json, NULL, "print JSON"},
        {0},
    };
    const struct psnap_usage usage = {
        "psnap doctor [--json]",
        "Checks the installation: compilers and the capture passes that fit them, other\n"
        "tools, libraries that psnap was built with, limits. Says what is missing, what\n"
        "for, and which Debian package has it. Compiles, runs and records a small program\n"
        "in a temporary folder. The exit status is 0 when that works, else 1.\n"
        "\n"
        "A check is ok, missing, wrong (it is there, but does not work, or is of another\n"
        "version), or limited (it works in part).",
        options};
    int status;
    const int operands = psnap_options_parse(argc, argv, &usage, false, &status);

    if (operands < 0)
        return status;
    if (operands)
        return psnap_cmd_usage("doctor", "'%s': no arguments are expected", argv[1]);
    psnap_doctor_check(&findings);
    psnap_doctor_try(&findings);
    if (json)
        print_json(&findings);
    else
        print_table(&findings);
    return psnap_cmd_close_stdout("doctor",
                                  findings.captures ? PSNAP_EXIT_DONE : PSNAP_EXIT_FAILED);
}
