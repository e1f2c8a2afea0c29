/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Regions of interest that `psnap record --roi FUNCTION` names: whether the
 * program has such functions, before it is started if that can be known, and after.
 */
#ifndef PSNAP_CAPTURE_SESSION_CMD_ROI_H
#define PSNAP_CAPTURE_SESSION_CMD_ROI_H

#include <stdbool.h>

#include "capture/capture.h"
#include "formats/base/cmd.h"

/* The names as a list of lines (PSNAP_ENV_ROI); to be freed. NULL, with `error` filled, when they
 * cannot be one. */
char *psnap_roi_join(const struct psnap_text_list *names, struct psnap_error *error);

/*
 * PSNAP_ERROR_USAGE when the program at `path` lacks a function of the list. A program
 * that may load instrumented code from elsewhere, or that is not instrumented itself, may have
 * anything.
 */
enum psnap_status psnap_roi_check(const char *roi, const char *path, struct psnap_error *error);

/* Notes the regions in the program's sampling; false: out of memory. */
bool psnap_roi_note(const char *roi, struct psnap_program *program);

/* Says on stderr what the regions of a finished recording lack; true when that is all of them. */
bool psnap_roi_complain(const char *command, const char *roi, const struct psnap_roi_report *report,
                        const struct psnap_program *program);

#endif
