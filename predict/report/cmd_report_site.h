/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sites of psnap report: a page of each profile of a repository, and the index page, which
 * cmd_report_index.h writes. Private to cmd_report_site*.c.
 */
#ifndef PSNAP_PREDICT_CMD_REPORT_SITE_H
#define PSNAP_PREDICT_CMD_REPORT_SITE_H

#include "formats/base/cmd_progress.h"
#include "formats/base/room.h"
#include "predict/report/cmd_report.h"
#include "profile/repo/cmd_repo_read.h"
#include "predict/report/cmd_report_index.h"

enum site_state {
    SITE_WAITING, /* for its report to be made */
    SITE_KEPT,    /* it was there, as it would be made now */
    SITE_MADE,
    SITE_FAILED /* problem says why */
};

struct site_entry {
    char id[REPO_ID_DIGITS + 1];
    uint64_t bytes, accesses;
    enum site_state state;
    bool has_report, has_profile;  /* files that are there */
    bool had_other;                /* the profile's file had another content */
    char *problem;                 /* owned; NULL: none */
    struct report_figures figures; /* if it has a report */
};

struct report_site {
    const char *repository, *directory;
    char *const *words; /* of the query */
    size_t word_count;
    const struct report *like; /* machines and options, which all reports have */
    char key[REPORT_KEY];
    bool force; /* make all reports anew */
    struct opened opened;
    struct index *fresh; /* of what the objects say; NULL: there was no need of it */
    struct query query;
    struct site_entry *entries; /* by id */
    size_t count, room;
    bool is_short;                   /* out of memory */
    struct psnap_progress *progress; /* of reports; NULL: none is shown */
};

/* Makes DIRECTORY a site, or finds that it is one; no file of another kind is touched. */
enum psnap_status site_prepare(const struct report_site *site, struct psnap_error *error);
/* The entries of the query. */
enum psnap_status site_list(struct report_site *site, struct psnap_error *error);
/* What there is of them already: profiles are copied to the directory as they are found missing. */
enum psnap_status site_find(struct report_site *site, struct psnap_error *error);
/* Makes the reports that wait, by a process each, as many at a time as there are processors. */
enum psnap_status site_run(struct report_site *site, struct psnap_error *error);
/* Writes the index page of what there is by now. */
enum psnap_status site_index(struct report_site *site, struct psnap_error *error);
/* Removes pages and profiles that are of no entry any more. */
void site_sweep(const struct report_site *site);

/* Says on stderr that there is no report of an entry, or not this profile, and keeps it. */
void site_fail(const struct report_site *site, struct site_entry *entry, const char *problem);
struct site_entry *site_entry_of(const struct report_site *site, const char *id);
/* Whether the report is there and as it would be made now; then it has figures. */
bool site_has_report(const struct report_site *site, struct site_entry *entry);

#endif
