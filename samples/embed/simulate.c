/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap's cache simulator in a program of your own: a column of a matrix of 256 by 256 doubles
 * after the other, in two levels of caches. Build it with CMakeLists.txt here, or with cc
 * simulate.c $(pkg-config --cflags --libs psnap) -Wl,-rpath,$(pkg-config --variable=libdir psnap)
 */
#include <inttypes.h>
#include <psnap/simcore.h>

int main(void)
{
    struct psnap_error error;
    struct psnap_tally tally = {0};
    struct psnap_sink *sim = psnap_sim_new_alone("32K:64:8,1M:64:16", &error);
    enum psnap_status status = sim ? PSNAP_OK : error.code;

    for (uint64_t i = 0; i < 256 * 256 && !status; i++) {
        struct psnap_access access = {.address = 4096 + (i % 256 * 256 + i / 256) * 8, .size = 8};
        status = psnap_sink_put(sim, &access, 1, &error); /* or blocks of many, which is faster */
    }
    if (status)
        fprintf(stderr, "simulate: %s\n", error.message);
    else
        psnap_sim_add_total(sim, 0, &tally);
    for (size_t level = 0; level < 2 && !status; level++)
        printf("level %zu: %" PRIu64 " hits of %" PRIu64 "\n", level + 1, tally.hits[level],
               psnap_tally_reached(&tally, level));
    psnap_sink_free(sim);
    return status != PSNAP_OK;
}
