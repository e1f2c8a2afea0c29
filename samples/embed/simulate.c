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
    struct psnap_error error = {.message = "out of memory"};
    struct psnap_machine machine;
    struct psnap_program *program = psnap_program_new(); /* whose instructions accesses are of */
    struct psnap_access block[256];
    struct psnap_tally tally = {0};
    struct psnap_sink *sim = NULL;
    int status = 1;

    if (!program || psnap_program_add_anonymous(program, "mine") || /* refs 0 (load), 1 (store) */
        psnap_machine_parse_inline("32K:64:8,1M:64:16", &machine, &error) ||
        !(sim = psnap_sim_new(&machine, 1, program, NULL, &error)))
        goto out;
    for (uint64_t column = 0; column < 256; column++) {
        for (uint64_t row = 0; row < 256; row++)
            block[row] =
                (struct psnap_access){.address = 4096 + (row * 256 + column) * 8, .size = 8};
        if (psnap_sink_put(sim, block, 256, &error)) /* as many as you like, as often */
            goto out;
    }
    psnap_sim_add_total(sim, 0, &tally);
    printf("%" PRIu64 " accesses\n", tally.accesses);
    for (size_t level = 0; level < machine.level_count; level++)
        printf("level %zu: %" PRIu64 " hits of %" PRIu64 "\n", level + 1, tally.hits[level],
               psnap_tally_reached(&tally, level));
    status = 0;
out:
    if (status)
        fprintf(stderr, "simulate: %s\n", error.message);
    psnap_sink_free(sim);
    psnap_program_free(program);
    return status;
}
