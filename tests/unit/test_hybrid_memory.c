/* SPDX-License-Identifier: BSD-3-Clause */
/* Out of memory in predict/hybrid: reading a table and analysing it with every allocation failing.
 */
#include "tests/unit/failing_malloc.h"

#include <stdio.h>
#include <string.h>

#include "predict/hybrid/hybrid.h"

#if FAILING_MALLOC

static char text[16384];
static FILE *table;

/* Two codes on three machines, with hits of two levels. */
static void make_table(void)
{
    size_t used = (size_t)snprintf(
        text, sizeof text,
        "code,machine,size,replicate,cpi,cpi_pipeline,hits2,hits3,latency2,latency3\n");

    for (int i = 0; i < 2 * 3 * 4 * 3; i++)
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 "\"c%d\",m%d,%d,%d,%d.%d,0.5,0.0%d,0.00%d,10,100\n", i / 36,
                                 i / 12 % 3, (i / 3 % 4 + 1) * 10, i % 3, i / 36 + 1,
                                 i * 7 % 13 + 10, i / 3 % 4 + 1, i * i % 4 + 1);
    table = fmemopen(text, used, "r");
    assert_non_null(table);
}

static enum psnap_status analyse(struct psnap_error *error)
{
    const struct hybrid_options options = {.level = 0.05, .steady = 0.05};
    struct observations observations = {.arena = psnap_arena_new()};
    struct hybrid hybrid;
    enum psnap_status status =
        observations.arena ? PSNAP_OK : psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");

    rewind(table);
    if (!status)
        status = observations_read(&observations, table, "in", error);
    if (!status)
        status = hybrid_make(&hybrid, &observations, &options, error);
    observations_release(&observations);
    psnap_arena_free(observations.arena);
    return status;
}

static void analysing(void **state)
{
    (void)state;
    make_table();
    run_job(analyse);
    fclose(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(analysing)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    return 0;
}

#endif
