/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Relative times: Table 11 of Tikir, Carrington, Strohmaier and Snavely (SC07), to its last digit,
 * of the run times in their Table 10; one run has no deviation.
 */
#include "tests/unit/test.h"

#include <math.h>

#include "predict/bandwidth/relative.h"

enum { MACHINES = 5, RUNS = 11, KRAKEN = MACHINES - 1 };

/* Seconds of AVUS and HYCOM on four numbers of processors each, OVERFLOW2 on three. */
static const double table10[MACHINES][RUNS] = {
    {3610, 1762, 1185, 886, 1358, 910, 824, 635, 6121, 3260, 1721},
    {4406, 2278, 1487, 1149, 2111, 1607, 1351, 1052, 8259, 3576, 1911},
    {5366, 2503, 1662, 1245, 2148, 1456, 1241, 980, 3556, 1907, 1086},
    {3743, 1864, 1245, 944, 1718, 1267, 1070, 820, 5829, 2799, 1412},
    {5585, 2793, 1871, 1409, 2508, 1442, 1222, 1245, 7254, 3695, 1911}};

TEST(published_times)
{
    static const char *const names[MACHINES] = {"Falcon", "JVN", "Eagle", "Sapphire", "Kraken"};
    static const char *const table11[MACHINES] = {"Falcon -31.6 (13.2)", "Sapphire -26.6 (8.5)",
                                                  "Eagle -19.3 (19.3)", "JVN -7.0 (13.9)",
                                                  "Kraken 0.0 (0.0)"};
    struct relative machines[MACHINES] = {0};
    char line[64];

    for (int i = 0; i < MACHINES; i++) {
        machines[i].machine = names[i];
        for (int run = 0; run < RUNS; run++)
            relative_add(&machines[i], table10[i][run] / table10[KRAKEN][run] - 1);
    }
    relative_sort(machines, MACHINES);
    for (int i = 0; i < MACHINES; i++) {
        snprintf(line, sizeof line, "%s %.1f (%.1f)", machines[i].machine, 100 * machines[i].mean,
                 100 * relative_deviation(&machines[i]));
        assert_string_equal(line, table11[i]);
    }
}

TEST(one_run)
{
    struct relative machine = {0};

    relative_add(&machine, -0.25);
    assert_true(machine.mean == -0.25 && isnan(relative_deviation(&machine)));
}
