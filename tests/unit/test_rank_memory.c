/* SPDX-License-Identifier: BSD-3-Clause */
/* Out of memory in predict/rank: each job below with every one of its allocations failing. */
#include "tests/unit/failing_malloc.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "predict/rank/ranking.h"

#if FAILING_MALLOC

static enum psnap_status read_text(struct times *times, const char *text, const char *machine,
                                   struct psnap_error *error)
{
    FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    enum psnap_status status;

    if (!file)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    status = times_read(times, file, &(struct times_file){.path = "in", .machine = machine}, error);
    fclose(file);
    return status;
}

/* CSV with a column that is not read, JSON, a machine with another name, and their ranking. */
static enum psnap_status rank(struct psnap_error *error)
{
    static const char csv[] = "application,machine,seconds,input,colour\n"
                              "cg,A,1,small,red\ncg,B,2,small,red\n\"lu\",A,3,,\nlu,B,2,,\n",
                      json[] = "{\"input\": \"lu.yaml\", \"rows\": ["
                               "{\"machine\": \"A\", \"scope\": \"total\", \"seconds\": 2.5},"
                               "{\"machine\": \"B\", \"scope\": \"total\", \"seconds\": 1}]}",
                      named[] = "application,machine,predicted\nlu,A,9\n";
    const struct ranking_settings settings = {SIZE_MAX, NAN, 0};
    struct times times = {0};
    struct ranking ranking = {0};
    enum psnap_status status = read_text(&times, csv, NULL, error);

    if (!status)
        status = read_text(&times, json, NULL, error);
    if (!status)
        status = read_text(&times, named, "C", error);
    if (!status)
        status = ranking_make(&ranking, &times, &settings, error);
    if (!status) {
        assert_int_equal(times.warning_count, 1);
        assert_int_equal(ranking.order[0], 1);
        assert_int_equal(ranking.total.compared, 1);
    }
    ranking_release(&ranking);
    times_release(&times);
    return status;
}

static void jobs(void **state)
{
    (void)state;
    run_job(rank);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(jobs)};

    return cmocka_run_group_tests_name("rank_memory", tests, NULL, NULL);
}

#else

int main(void)
{
    return 0;
}

#endif
