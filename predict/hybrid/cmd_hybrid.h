/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the parts of psnap hybrid share.
 */
#ifndef PSNAP_PREDICT_HYBRID_CMD_HYBRID_H
#define PSNAP_PREDICT_HYBRID_CMD_HYBRID_H

#include "formats/base/cmd.h"
#include "predict/hybrid/hybrid.h"

struct hybrid_settings {
    char **paths;
    size_t path_count;
    struct psnap_text_list machines;
    const char *sizes; /* of inputs that are predicted, "8,16,24"; NULL: by their arguments */
    const char *output, *plot; /* files to write; NULL: none */
    struct hybrid_options options;
    const char *rates; /* "sdcm", "per-set" or "simulation", of predictions; NULL: of CSV */
    uint64_t seed;
    bool json, force;
};

/* Whether this psnap was built with what statistics need. */
bool hybrid_is_built(void);

/* Gives observations the maximal latencies of the machines that the settings name, "MACHINE" or
 * "NAME=MACHINE", where they have none of their own. */
enum psnap_status hybrid_add_latencies(struct observations *observations,
                                       const struct psnap_text_list *machines,
                                       struct psnap_error *error);

/* Whether an input is a table of observations, not a profile or a trace. */
bool hybrid_is_csv(const char *path);

/* Predicts inputs, profiles or traces, on machines: an observation of each. */
enum psnap_status hybrid_predict(struct observations *observations,
                                 const struct hybrid_settings *settings, struct psnap_error *error);

/* Reports. */
void hybrid_print(const struct hybrid *hybrid, const struct observations *observations,
                  const struct hybrid_settings *settings);
void hybrid_print_json(const struct hybrid *hybrid, const struct observations *observations,
                       const struct hybrid_settings *settings);

/* The observations as CSV that psnap hybrid reads, with m0 of each. */
void hybrid_write_csv(const struct hybrid *hybrid, const struct observations *observations,
                      FILE *file);

/* Whether m0 can be drawn to such a file: .svg or .png; and drawing it. */
bool hybrid_can_draw(const char *path);
enum psnap_status hybrid_draw(const struct hybrid *hybrid, const struct observations *observations,
                              const char *path, FILE *file, struct psnap_error *error);

#endif
