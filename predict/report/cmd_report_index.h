/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The index page of a site of profiles: one table that is read without JavaScript, and sorted and
 * filtered with it, by mouse and keyboard, with reports behind the names and columns of hit rates.
 */
#ifndef PSNAP_PREDICT_SITE_PAGE_H
#define PSNAP_PREDICT_SITE_PAGE_H

#include "profile/repo/cmd_repo_read.h"

/* Where the profile of an entry is, seen from the page. */
#define SITE_PROFILES "profiles"
#define SITE_PROFILE SITE_PROFILES "/%.32s.yaml"
#define SITE_INDEX "index.html"

struct site_page {
    FILE *file;
    const char *title;
    const char *caption;         /* of the table; NULL: one of its own */
    const char *const *headings; /* of columns of numbers beyond those of every site */
    size_t heading_count;
    const char *curves; /* the heading of small curves; NULL: there are none */
    uint64_t rows;      /* so far */
};

/* A curve that falls from the left to the right: shares from 0 to 1 at equal distances, drawn
 * logarithmically. */
struct site_curve {
    const double *shares;
    size_t count;
    const char *words; /* that say the same */
};

struct site_row {
    const struct entry *entry;
    bool has_report;         /* a file REPORT beside the page, else the name leads nowhere */
    bool has_profile;        /* SITE_PROFILE is there */
    const char *problem;     /* why something is missing; NULL: nothing is wrong */
    const double *values;    /* of the further columns, NaN: not known; NULL: none is */
    struct site_curve curve; /* count 0: not known */
};

#define SITE_REPORT "%.32s.html"

void site_page_begin(const struct site_page *page);
void site_page_row(struct site_page *page, const struct site_row *row);
void site_page_end(const struct site_page *page);

#endif
