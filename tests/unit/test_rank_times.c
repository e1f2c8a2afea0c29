/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading run times: CSV in any form that RFC 4180 has, JSON of predictions, and what is refused,
 * each with its place.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predict/rank/times.h"

static enum psnap_status add_file(struct times *times, const char *text,
                                  const struct times_file *how, struct psnap_error *error)
{
    FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    enum psnap_status status;

    assert_non_null(file);
    status = times_read(times, file, how, error);
    fclose(file);
    return status;
}

static enum psnap_status add(struct times *times, const char *text, const char *method,
                             struct psnap_error *error)
{
    return add_file(times, text, &(struct times_file){.path = "t", .method = method}, error);
}

static struct times reading(const char *text, const char *method)
{
    struct times times = {0};
    struct psnap_error error;

    assert_int_equal(add(&times, text, method, &error), PSNAP_OK);
    return times;
}

static double at(const struct times *times, size_t index, const char *machine, enum times_kind kind)
{
    const size_t m = times_machine(times, machine);

    assert_true(m != SIZE_MAX);
    return times_get(times, index, m, kind);
}

/* Refused at src_line:column, with these words in the message. */
static void refused(const char *text, uint32_t src_line, uint32_t column, const char *words)
{
    struct times times = {0};
    struct psnap_error error = {0};

    assert_true(add(&times, text, NULL, &error) < 0);
    if (!strstr(error.message, words))
        fail_msg("no '%s' in '%s'", words, error.message);
    assert_string_equal(error.file, "t");
    assert_int_equal(error.src_line, src_line);
    assert_int_equal(error.column, column);
    times_release(&times);
}

static void csv(void **state)
{
    struct times times = reading("\xef\xbb\xbf# of somewhere\n"
                                 "\"machine\", cores,seconds ,application,input,predicted\r\n"
                                 "\"A, \"\"large\"\"\",1,2.5,hycom,\"x,y\",\r\n"
                                 "\n"
                                 "B,,1e2,hycom,\"x,y\",99.5\r\n"
                                 "B,59,,hycom,,7",
                                 NULL);
    char name[40];

    (void)state;
    assert_int_equal(times.case_count, 2);
    assert_int_equal(times.machine_count, 2);
    assert_string_equal(times.machines[0], "A, \"large\"");
    assert_string_equal(times_case_name(&times.cases[0], name, sizeof name), "hycom, x,y");
    assert_string_equal(times_case_name(&times.cases[1], name, sizeof name), "hycom, 59 cores");
    assert_true(at(&times, 0, "A, \"large\"", TIMES_MEASURED) == 2.5);
    assert_true(isnan(at(&times, 0, "A, \"large\"", TIMES_PREDICTED)));
    assert_true(isnan(at(&times, 1, "A, \"large\"", TIMES_MEASURED)));
    assert_true(at(&times, 0, "B", TIMES_MEASURED) == 100);
    assert_true(at(&times, 0, "B", TIMES_PREDICTED) == 99.5);
    assert_true(isnan(at(&times, 1, "B", TIMES_MEASURED)));
    assert_true(at(&times, 1, "B", TIMES_PREDICTED) == 7);
    assert_true(times.has[TIMES_MEASURED] && times.has[TIMES_PREDICTED]);
    times_release(&times);
}

/* Measured times in a file, predicted ones in another. */
static void two_files(void **state)
{
    struct times times = reading("application,machine,seconds\ncg,A,2\ncg,B,3\n", NULL);
    struct psnap_error error;

    (void)state;
    assert_int_equal(add(&times, "application,machine,predicted\ncg,B,4\n", NULL, &error), 0);
    assert_int_equal(times.case_count, 1);
    assert_true(at(&times, 0, "B", TIMES_MEASURED) == 3);
    assert_true(at(&times, 0, "B", TIMES_PREDICTED) == 4);
    assert_true(add(&times, "application,machine,seconds\n\ncg,B,4\n", NULL, &error) < 0);
    assert_non_null(strstr(error.message, "from line 3 of 't'"));
    times_release(&times);
}

static void csv_refused(void **state)
{
#define HEAD "application,machine,seconds\n"
    (void)state;
    refused("", 0, 0, "empty");
    refused(HEAD "cg,A,nan\n", 2, 6, "'nan'");
    refused(HEAD "cg,A,1\ncg,B,-3\n", 3, 6, "'-3': a run time above 0");
    refused(HEAD "cg,A,0\n", 2, 6, "'0'");
    refused(HEAD "cg,A,inf\n", 2, 6, "'inf'");
    refused(HEAD "cg,A,1e999\n", 2, 6, "'1e999'");
    refused(HEAD "cg,A,12 s\n", 2, 6, "'12 s'");
    refused(HEAD "cg,A,1\n\ncg,A,2\n", 4, 6, "from line 2 of 't'");
    refused(HEAD ",A,1\n", 2, 1, "the application has no name");
    refused(HEAD "cg,,1\n", 2, 4, "the machine has no name");
    refused(HEAD "cg,A\n", 2, 1, "2 fields where the first line has 3");
    refused("application,machine,time\n", 1, 1, "no column 'seconds'");
    refused("application,seconds\n", 1, 1, "no column 'machine'");
    refused("machine,seconds\n", 1, 1, "no column 'application'");
    refused("application,machine,seconds,machine\n", 1, 29, "'machine' is there twice");
    refused("application,machine,seconds,cores\ncg,A,1,0\n", 2, 8, "cores is '0'");
    refused("application,machine,seconds,cores\ncg,A,1,four\n", 2, 8, "cores is 'four'");
    refused("application,machine,predicted\ncg,A,-1\n", 2, 6, "predicted is '-1'");
    refused(HEAD "cg,\"A,1\n", 3, 1, "within quotes");
    /* one core is what is not said */
    refused("application,machine,seconds,cores\ncg,A,1,1\ncg,A,1,\n", 3, 6, "is there already");
}

static void warnings(void **state)
{
    struct times times =
        reading("application,machine,seconds,color,speed,error,corse\ncg,A,1,red,2,3,4\n", NULL);

    (void)state;
    assert_int_equal(times.warning_count, 2);
    assert_non_null(strstr(times.warnings[0].message, "'color' is not read"));
    assert_int_equal(times.warnings[0].column, 29);
    assert_non_null(strstr(times.warnings[1].message, "did you mean 'cores'?"));
    times_release(&times);
}

static void json(void **state)
{
    static const char text[] =
        "{\"psnap\": 1, \"command\": \"predict runtime\", \"input\": \"dir/cg.psnap.yaml\", "
        "\"rows\": ["
        "{\"machine\": \"A\", \"method\": \"sum\", \"scope\": \"total\", \"cores\": 1, "
        "\"seconds\": 1.0e-05, \"levels\": []}, "
        "{\"machine\": \"A\", \"method\": \"sum\", \"scope\": \"loop\", \"seconds\": 4}, "
        "{\"machine\": \"B\", \"method\": \"overlap\", \"scope\": \"total\", \"seconds\": null}, "
        "{\"input\": \".hidden.pst\", \"machine\": \"B\", \"seconds\": 3, \"cores\": 4}]}";
    struct times times = reading(text, "sum");
    struct psnap_error error;

    (void)state;
    assert_int_equal(times.case_count, 2);
    assert_string_equal(times.cases[0].application, "cg");
    assert_string_equal(times.cases[1].application, ".hidden.pst");
    assert_int_equal(times.cases[1].cores, 4);
    assert_true(at(&times, 0, "A", TIMES_PREDICTED) == 1e-5);
    assert_true(at(&times, 1, "B", TIMES_PREDICTED) == 3);
    assert_false(times.has[TIMES_MEASURED]);
    times_release(&times);
    assert_int_equal(add(&times, text, "overlap", &error), PSNAP_OK);
    assert_true(isnan(at(&times, 0, "B", TIMES_PREDICTED)));
    times_release(&times);
    times = reading(text, NULL);
    assert_int_equal(times.cases[0].count, 1);
    assert_true(times_machine(&times, "A") == SIZE_MAX);
    times_release(&times);
    assert_true(add(&times, text, "other", &error) == PSNAP_OK); /* the last row has no method */
    assert_int_equal(times.case_count, 1);
    times_release(&times);
}

/* By several methods and none asked for: that of the least error in the file is read. */
static void json_methods(void **state)
{
#define METHODS_OF(ga, nnls)                                                                       \
    "{\"methods\": [{\"method\": \"ga\", " ga "}, {\"method\": \"nnls\", " nnls                    \
    "}, {\"method\": \"unused\", \"held_out_error\": 0, \"mean_error\": 0}], \"rows\": ["          \
    "{\"input\": \"cg\", \"machine\": \"A\", \"method\": \"ga\", \"scope\": \"total\", "           \
    "\"seconds\": 1}, "                                                                            \
    "{\"input\": \"cg\", \"machine\": \"A\", \"method\": \"unused\", \"scope\": \"loop\", "        \
    "\"seconds\": 3}, "                                                                            \
    "{\"input\": \"cg\", \"machine\": \"A\", \"method\": \"nnls\", \"scope\": \"total\", "         \
    "\"seconds\": 2}]}"
    static const struct {
        const char *text;
        double seconds;
    } files[] = {
        {METHODS_OF("\"held_out_error\": 0.3, \"mean_error\": 0.1",
                    "\"held_out_error\": 0.2, \"mean_error\": 0.2"),
         2},
        {METHODS_OF("\"held_out_error\": 0.1, \"mean_error\": 0.3",
                    "\"held_out_error\": 0.2, \"mean_error\": 0.2"),
         1},
        {METHODS_OF("\"held_out_error\": null, \"mean_error\": 0.1",
                    "\"held_out_error\": null, \"mean_error\": 0.2"),
         1},
        {METHODS_OF("\"held_out_error\": 0.1, \"mean_error\": 0.3",
                    "\"held_out_error\": null, \"mean_error\": 0.2"),
         2},
    };
    struct times times;
    struct psnap_error error;

    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        times = reading(files[i].text, NULL);
        assert_true(at(&times, 0, "A", TIMES_PREDICTED) == files[i].seconds);
        times_release(&times);
    }
    times = reading(files[0].text, "ga");
    assert_true(at(&times, 0, "A", TIMES_PREDICTED) == 1);
    times_release(&times);
    refused(METHODS_OF("\"mean_error\": null", "\"mean_error\": 0.2"), 1, 160,
            "rows are by several methods, 'ga' and 'nnls' among them: --method chooses one");
    times = (struct times){0};
    assert_int_equal(add(&times,
                         "{\"input\": \"cg\", \"rows\": ["
                         "{\"machine\": \"A\", \"method\": \"sum\", \"seconds\": 1}, "
                         "{\"machine\": \"A\", \"method\": \"overlap\", \"seconds\": 2}]}",
                         NULL, &error),
                     PSNAP_OK);
    assert_true(at(&times, 0, "A", TIMES_PREDICTED) == 2);
    times_release(&times);
}

/* Two computers that are 'host' in their files: one is given a name. */
static void machine_named(void **state)
{
    static const char json[] = "{\"input\": \"cg\", \"rows\": [\n"
                               "{\"machine\": \"host\", \"seconds\": 2}]}",
                      csv[] = "application,machine,predicted\ncg,host,3\nlu,host,4\n",
                      two[] = "application,machine,predicted\ncg,A,3\nlu,B,4\n";
    const struct times_file one = {.path = "one.json"}, other = {.path = "two.csv"},
                            named = {.path = "two.csv", .machine = "other"};
    struct times times = {0};
    struct psnap_error error;

    (void)state;
    assert_int_equal(add_file(&times, json, &one, &error), PSNAP_OK);
    assert_true(add_file(&times, csv, &other, &error) < 0);
    assert_non_null(strstr(error.message, "'cg' on 'host' is there already, from line 2 of "
                                          "'one.json': where the files are of two machines of "
                                          "this name, NAME=FILE gives one another name"));
    assert_int_equal(error.src_line, 2);
    assert_int_equal(add_file(&times, csv, &named, &error), PSNAP_OK);
    assert_int_equal(times.machine_count, 2);
    assert_true(at(&times, 0, "host", TIMES_PREDICTED) == 2);
    assert_true(at(&times, 0, "other", TIMES_PREDICTED) == 3);
    assert_true(at(&times, 1, "other", TIMES_PREDICTED) == 4);
    times_release(&times);

    assert_int_equal(add_file(&times, csv, &named, &error), PSNAP_OK);
    assert_int_equal(
        add_file(&times, json, &(struct times_file){.path = "one.json", .machine = "far"}, &error),
        PSNAP_OK);
    assert_true(at(&times, 0, "far", TIMES_PREDICTED) == 2);
    assert_true(times_machine(&times, "host") == SIZE_MAX);
    assert_int_equal(add_file(&times, json, &one, &error), PSNAP_OK); /* a name is of one file */
    assert_true(at(&times, 0, "host", TIMES_PREDICTED) == 2);
    times_release(&times);

    assert_true(add_file(&times, two, &named, &error) < 0);
    assert_non_null(strstr(error.message, "'other' was to name the machine of a file that has two, "
                                          "'A' and 'B'"));
    assert_string_equal(error.file, "two.csv");
    assert_int_equal(error.src_line, 3);
    times_release(&times);
}

static void json_refused(void **state)
{
    (void)state;
    refused("{", 2, 1, "");
    refused("{\"rows\": 3}", 1, 10, "rows");
    refused("{\"psnap\": 1}", 1, 1, "rows");
    refused("{\"psnap\": 1, \"error\": {\"message\": \"no clock\"}}", 1, 1,
            "the prediction has failed: no clock");
    refused("{\"rows\": []}", 1, 10, "no row of scope 'total'");
    refused("{\"rows\": [{\"machine\": \"A\", \"seconds\": 1}]}", 1, 11, "of which input");
    refused("{\"input\": \"a\",\n\"rows\": [{\"seconds\": 1}]}", 2, 10, "without machine");
    refused("{\"input\": \"a\",\n\"rows\": [{\"machine\": \"A\"}]}", 2, 10, "without seconds");
    refused("{\"input\": \"a\",\n\"rows\": [{\"machine\": \"A\", \"seconds\": 0}]}", 2, 38,
            "above 0");
    refused("{\"input\": \"a\",\n\"rows\": [{\"machine\": \"A\", \"seconds\": -1}]}", 2, 38,
            "seconds");
}

static void unrankable(const char *text, const char *words)
{
    struct times times = reading(text, NULL);
    struct psnap_error error;

    assert_true(times_check(&times, times.has[TIMES_PREDICTED] ? TIMES_PREDICTED : TIMES_MEASURED,
                            &error) < 0);
    if (!strstr(error.message, words))
        fail_msg("no '%s' in '%s'", words, error.message);
    times_release(&times);
}

static void nothing_to_rank(void **state)
{
    (void)state;
    unrankable("application,machine,seconds\n", "there are no run times");
    unrankable("application,machine,seconds\ncg,A,\ncg,B,\n", "there are no run times");
    unrankable("application,machine,seconds\ncg,A,1\nlu,A,2\n", "one machine, 'A'");
    unrankable("application,machine,seconds\ncg,A,1\nlu,B,2\n",
               "no case has measured run times of two machines");
    unrankable("application,machine,seconds,predicted\ncg,A,1,\ncg,B,2,3\n",
               "no case has predicted run times of two machines");
}

static void limits(void **state)
{
    struct times times = {0};
    struct psnap_error error;
    char name[24];
    struct times_record record = {.application = "cg", .machine = name, .place = {"t", 1, 1}};

    (void)state;
    for (unsigned i = 0; i <= TIMES_MACHINES_MAX; i++) {
        snprintf(name, sizeof name, "%u", i);
        assert_int_equal(times_put(&times, &record, TIMES_MEASURED, 1, &error),
                         i < TIMES_MACHINES_MAX ? PSNAP_OK : PSNAP_ERROR_MEMORY);
    }
    record.application = name;
    record.machine = "0";
    for (unsigned i = 1; i <= TIMES_CASES_MAX; i++) {
        snprintf(name, sizeof name, "%u", i);
        assert_int_equal(times_put(&times, &record, TIMES_MEASURED, 1, &error),
                         i < TIMES_CASES_MAX ? PSNAP_OK : PSNAP_ERROR_MEMORY);
    }
    times_release(&times);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csv),
        cmocka_unit_test(two_files),
        cmocka_unit_test(csv_refused),
        cmocka_unit_test(warnings),
        cmocka_unit_test(json),
        cmocka_unit_test(json_methods),
        cmocka_unit_test(machine_named),
        cmocka_unit_test(json_refused),
        cmocka_unit_test(nothing_to_rank),
        cmocka_unit_test(limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
