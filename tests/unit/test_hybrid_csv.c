/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables of observations: quotes, ends of lines, comments, columns in any order; what is derived of
 * others; and each mistake with its line and column.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "predict/csv.h"
#include "predict/hybrid/observations.h"

static FILE *open_text(const char *text)
{
    FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");

    assert_non_null(file);
    return file;
}

/* ------------------------------------------------------------------------- CSV */

/* All fields, each in brackets, records on lines; or the error. */
static void written(const char *text, char *out, size_t size)
{
    FILE *file = open_text(text);
    struct csv_reader reader;
    struct psnap_error error;
    bool has_one = true;
    size_t used = 0;

    csv_init(&reader, file, "in");
    out[0] = '\0';
    for (;;) {
        if (csv_next(&reader, &has_one, &error) != PSNAP_OK) {
            psnap_error_format(&error, out, size);
            break;
        }
        if (!has_one)
            break;
        for (size_t i = 0; i < reader.count; i++)
            used += (size_t)snprintf(out + used, size - used, "[%s]", csv_text(&reader, i));
        used += (size_t)snprintf(out + used, size - used, "\n");
    }
    csv_release(&reader);
    fclose(file);
}

static void reads_csv(void **state)
{
    static const char *const cases[][2] = {
        {"a,b\n1,2\n", "[a][b]\n[1][2]\n"},
        {"a,b\r\n1,2\r\n", "[a][b]\n[1][2]\n"},
        {"a,b\n1,2", "[a][b]\n[1][2]\n"},
        {"'=a,'b,'\n", "[=a]['b][']\n"},
        {"\xef\xbb\xbf"
         "a\n",
         "[a]\n"},
        {"# why\n\na , b\n\n# more, \"of\n 1,\t2 \n", "[a][b]\n[1][2]\n"},
        {"\"a,b\",\"say \"\"so\"\"\"\n", "[a,b][say \"so\"]\n"},
        {"\"two\nlines\",x\n", "[two\nlines][x]\n"},
        {" \"q\" ,x\r\n", "[q][x]\n"},
        {"a,,\n,\n", "[a][][]\n[][]\n"},
        {"\"\"\n", "[]\n"},
        {"a#b,#\n", "[a#b][#]\n"},
        {"a\rb\n", "[a\rb]\n"},
        {"", ""},
        {"a,\"b\n", "in:2:1: the file ends within quotes"},
        {"a\nb,\"c\"d\n", "in:2:6: a comma is missing after the closing quote"},
        {"a,b\"c\n", "in:1:4: a quote within a field: the whole field goes into quotes"},
    };
    char out[512];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        written(cases[i][0], out, sizeof out);
        assert_string_equal(out, cases[i][1]);
    }
}

static void refuses_what_is_no_text(void **state)
{
    static char large[(1 << 20) + 64];
    char out[512];
    FILE *file = fmemopen((char[]){'a', '\0', '\n'}, 3, "r");
    struct csv_reader reader;
    struct psnap_error error;
    bool has_one;

    (void)state;
    csv_init(&reader, file, "in");
    assert_int_equal(csv_next(&reader, &has_one, &error), PSNAP_ERROR_SYNTAX);
    assert_int_equal(error.column, 2);
    csv_release(&reader);
    fclose(file);
    memset(large, 'x', sizeof large - 1);
    large[0] = '"';
    written(large, out, sizeof out);
    assert_string_equal(out, "in:1:1048578: a record of more than 1 MiB: is a quote not closed?");
    memset(large, ',', sizeof large - 1);
    memcpy(large, "a,b\n", 4);
    written(large, out, sizeof out);
    assert_string_equal(out, "in:2:4097: a record of more than 4096 fields");
}

/* ----------------------------------------------------------------- observations */

static enum psnap_status read_text(struct observations *observations, const char *text,
                                   struct psnap_error *error)
{
    FILE *file = open_text(text);
    enum psnap_status status = observations_init(observations, error);

    if (!status)
        status = observations_read(observations, file, "in", error);
    if (!status)
        status = observations_check(observations, error);
    fclose(file);
    return status;
}

static void reads_observations(void **state)
{
    struct observations observations;
    struct psnap_error error;

    (void)state;
    assert_int_equal(read_text(&observations,
                               "cpi,size,machine,code,replicate,colour,cpi_pipeline\n"
                               "1.5,2K,B,cg,1,red,0.5\n"
                               "1.25,10,A,lu,first,,\n"
                               "2e0,10,B,cg,2,,1\n",
                               &error),
                     PSNAP_OK);
    assert_int_equal(observations.count, 3);
    assert_string_equal(observations.codes.names[0], "cg");
    assert_string_equal(observations.codes.names[1], "lu");
    assert_string_equal(observations.machines.names[1], "A");
    assert_true(observations.rows[0].size == 2048 && observations.rows[0].cpi == 1.5);
    assert_true(observations.rows[0].cpi_memory == 1);
    assert_true(isnan(observations.rows[1].cpi_memory) && isnan(observations.rows[1].cpi_pipeline));
    assert_true(observations.rows[1].levels == 0 && observations.rows[1].src_line == 3);
    assert_true(observations.rows[2].cpi == 2 && observations.rows[2].machine == 0);
    assert_int_equal(observations.warning_count, 1);
    assert_non_null(strstr(observations.warnings[0].message, "'colour' is not read"));
    assert_int_equal(observations.warnings[0].column, 33);
    observations_release(&observations);
}

/* In the order of the file, not of letters. */
static void reads_names_of_sizes(void **state)
{
    struct observations observations;
    struct psnap_error error;
    char buffer[32];

    (void)state;
    assert_int_equal(read_text(&observations,
                               "code,machine,size,replicate,cpi\ncg,A,W,1,2\ncg,A,A,1,2\n"
                               "cg,A,W,2,3\n",
                               &error),
                     PSNAP_OK);
    assert_true(observations.rows[0].size == 1 && observations.rows[1].size == 2);
    assert_true(observations.rows[2].size == 1);
    assert_string_equal(observations_size(&observations, 2, buffer), "A");
    observations_release(&observations);
}

/* cpi from its parts; hits from cumulative rates: h_2 = 0.5 (0.95 - 0.9), of memory 0.5 (1 - 0.99).
 */
static void derives(void **state)
{
    struct observations observations;
    struct psnap_error error;

    (void)state;
    assert_int_equal(
        read_text(&observations,
                  "code,machine,size,cpi_pipeline,cpi_memory,accesses_per_instruction,hit_rate1,"
                  "hit_rate2,cumulative_hit_rate3,latency2,latency3,latency4\n"
                  "cg,A,10,1,0.5,0.5,0.9,0.95,0.99,10,40,200\n"
                  "cg,A,11,1,0.5,,0.9,0.95,0.99,10,40,200\n",
                  &error),
        PSNAP_OK);
    assert_true(observations.rows[0].cpi == 1.5);
    assert_int_equal(observations.rows[0].levels, 3);
    assert_true(fabs(observations.rows[0].hits[0] - 0.025) < 1e-15);
    assert_true(fabs(observations.rows[0].hits[1] - 0.02) < 1e-15);
    assert_true(fabs(observations.rows[0].hits[2] - 0.005) < 1e-15);
    assert_true(observations.rows[0].latencies[2] == 200);
    assert_int_equal(observations.rows[1].levels, 0);
    observations_release(&observations);
}

#define COLUMNS "code,machine,size,replicate,cpi"

static void names_mistakes(void **state)
{
    static const char *const cases[][2] = {
        {"", "in: there are no observations in it"},
        {COLUMNS "\n", "in: there are no observations in it"},
        {"code;machine;size;replicate;cpi\ncg;A;1;1;1\n", "in:1:1: no column 'code'"},
        {"code,machine,size,replicate\ncg,A,1,1\n", "in:1:1: no column 'cpi'"},
        {COLUMNS ",cpi\n", "in:1:33: two columns are called 'cpi'"},
        {COLUMNS ",hits2,hits4\n", "in:1:39: there is a column 'hits4', but no 'hits3'"},
        {COLUMNS ",hit_rate2\n", "in:1:33: there is a column 'hit_rate2', but no 'hit_rate1'"},
        {COLUMNS ",hits2,hit_rate1\n", "in:1:39: there are columns 'hits' and 'hit_rate'"},
        {COLUMNS ",hit_rate_1,hit_rate_L2\ncg,A,1,1,2,0.95,0.9\n",
         "in:2:17: hit_rate2 is 0.9, below hit_rate1, 0.95"},
        {COLUMNS "\ncg,A,1,1\n", "in:2:1: 4 fields, but there are 5 columns"},
        {COLUMNS "\ncg,A,1,1,2,3\n", "in:2:12: 6 fields, but there are 5 columns"},
        {COLUMNS "\n,A,1,1,2\n", "in:2:1: the code has no name"},
        {COLUMNS "\ncg, ,1,1,2\n", "in:2:5: the machine has no name"},
        {COLUMNS "\ncg,A,W,1,2\ncg,A,8,1,2\n", "in:3:6: size is '8', but others are names"},
        {COLUMNS "\ncg,A,8,1,2\ncg,A,W,1,2\n", "in:3:6: size is 'W', but others are numbers"},
        {COLUMNS "\ncg,A,NaN,1,2\n", "in:2:6: size is 'NaN': a number above 0 is needed"},
        {COLUMNS "\ncg,A,,1,2\n", "in:2:6: size is ''"},
        {COLUMNS "\ncg,A,0,1,2\n", "in:2:6: size is '0'"},
        {COLUMNS "\ncg,A,1,1,nan\n", "in:2:10: cpi is 'nan': a finite number is needed"},
        {COLUMNS "\ncg,A,1,1,inf\n", "in:2:10: cpi is 'inf'"},
        {COLUMNS "\ncg,A,1,1,1e99\n", "in:2:10: cpi is 1e99, which is too large"},
        {COLUMNS "\ncg,A,1,1,-2\n", "in:2:10: cpi is -2, and cannot be below 0"},
        {COLUMNS "\ncg,A,1,1,0\n", "in:2:10: cpi is 0, and cannot be 0"},
        {COLUMNS "\ncg,A,1,1,\n", "in:2:10: there is no cpi"},
        {COLUMNS ",cpi_memory\ncg,A,1,1,2,-0.1\n", "in:2:12: cpi_memory is -0.1, and cannot be"},
        {COLUMNS ",cpi_memory\ncg,A,1,1,2,3\n", "in:2:12: cpi_memory is 3, more than cpi, 2"},
        {COLUMNS ",cpi_pipeline\ncg,A,1,1,2,3\n", "in:2:12: cpi_pipeline is 3, more than cpi, 2"},
        {COLUMNS ",cpi_pipeline,cpi_memory\ncg,A,1,1,2,1,1.5\n",
         "in:2:10: cpi is 2, but cpi_pipeline and cpi_memory add up to 2.5"},
        {COLUMNS ",hits2\ncg,A,1,1,2,-1\n", "in:2:12: hits2 is -1, and cannot be below 0"},
        {COLUMNS ",latency2\ncg,A,1,1,2,0\n", "in:2:12: latency2 is 0, and cannot be 0"},
        {COLUMNS ",accesses_per_instruction,hit_rate1,hit_rate2\ncg,A,1,1,2,0.4,0.9,0.8\n",
         "in:2:20: hit_rate2 is 0.8, below hit_rate1, 0.9: rates are cumulative"},
        {COLUMNS ",accesses_per_instruction,hit_rate1\ncg,A,1,1,2,0.4,95\n",
         "in:2:16: hit_rate1 is 95: rates are shares"},
        {COLUMNS "\ncg,A,1,1,2\ncg,B,1,1,2\ncg,A,1,1,3\n",
         "in:4: replicate '1' of code 'cg', machine 'A', size 1 is on line 2 of 'in' already"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct observations observations;
        struct psnap_error error = {0};
        char text[1024] = "no error";
        if (read_text(&observations, cases[i][0][0] ? cases[i][0] : "\n", &error) != PSNAP_OK)
            psnap_error_format(&error, text, sizeof text);
        if (strncmp(text, cases[i][1], strlen(cases[i][1])) != 0)
            fail_msg("'%s' is not '%s'", text, cases[i][1]);
        observations_release(&observations);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_csv),
        cmocka_unit_test(refuses_what_is_no_text),
        cmocka_unit_test(reads_observations),
        cmocka_unit_test(derives),
        cmocka_unit_test(reads_names_of_sizes),
        cmocka_unit_test(names_mistakes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
