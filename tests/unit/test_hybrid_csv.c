/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables of observations: quotes, ends of lines, comments, columns in any order; what is derived of
 * others; and each mistake with its line and column.
 */
#include "tests/unit/test.h"

#include <math.h>

#include "formats/base/arena.h"
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
    struct csv_reader reader = {.file = file, .path = "in"};
    struct psnap_error error;
    bool has_one = true;
    size_t used = 0;

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

TEST(reads_csv)
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
        {" \"q\" ,x\r\n", "[q][x]\n"},
        {"a,,\n,\n", "[a][][]\n[][]\n"},
        {"\"\"\n", "[]\n"},
        {"a#b,#\n", "[a#b][#]\n"},
        {"a\rb\n", "[a\rb]\n"},
        {"", ""},
        {"a,\"b\n", "in:1:4: the line ends within quotes"},
        {"a\nb,\"c\"d\n", "in:2:6: a comma is missing after the closing quote"},
        {"a,b\"c\n", "in:1:4: a quote within a field: the whole field goes into quotes"},
    };
    char out[512];

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        written(cases[i][0], out, sizeof out);
        assert_string_equal(out, cases[i][1]);
    }
}

TEST(refuses_what_is_no_text)
{
    static char large[(1 << 20) + 64];
    char out[512];
    FILE *file = fmemopen((char[]){'a', '\0', '\n'}, 3, "r");
    struct csv_reader reader = {.file = file, .path = "in"};
    struct psnap_error error;
    bool has_one;

    assert_int_equal(csv_next(&reader, &has_one, &error), PSNAP_ERROR_SYNTAX);
    assert_int_equal(error.column, 2);
    csv_release(&reader);
    fclose(file);
    memset(large, 'x', sizeof large - 1);
    written(large, out, sizeof out);
    assert_string_equal(out, "in:1:1048577: a line of more than 1 MiB");
    memset(large, ',', 5000);
    large[5000] = '\0';
    memcpy(large, "a,b\n", 4);
    written(large, out, sizeof out);
    assert_string_equal(out, "in:2:4097: a record of more than 4096 fields");
}

/* ----------------------------------------------------------------- observations */

static struct observations observations;

static void release(void)
{
    observations_release(&observations);
    psnap_arena_free(observations.arena);
}

static enum psnap_status read_text(const char *text, struct psnap_error *error)
{
    FILE *file = open_text(text);
    enum psnap_status status;

    observations = (struct observations){.arena = psnap_arena_new()};
    status = observations_read(&observations, file, "in", error);
    if (!status)
        status = observations_sort(&observations, error);
    fclose(file);
    return status;
}

/* Sorted by code and machine as they come first. */
TEST(reads_observations)
{
    struct psnap_error error;
    const struct observation *rows;

    assert_int_equal(read_text("cpi,size,machine,code,replicate,colour,cpi_pipeline\n"
                               "1.5,2K,B,cg,1,red,0.5\n"
                               "1.25,10,A,lu,first,,\n"
                               "2e0,10,B,cg,2,,1\n",
                               &error),
                     PSNAP_OK);
    rows = observations.rows;
    assert_int_equal(observations.count, 3);
    assert_string_equal(observations.codes.names[0], "cg");
    assert_string_equal(observations.codes.names[1], "lu");
    assert_string_equal(observations.machines.names[1], "A");
    assert_true(rows[0].cpi == 2 && rows[0].machine == 0 && rows[0].size == 10);
    assert_true(rows[1].size == 2048 && rows[1].cpi == 1.5 && rows[1].cpi_memory == 1);
    assert_true(isnan(rows[2].cpi_memory) && isnan(rows[2].cpi_pipeline));
    assert_true(rows[2].levels == 0 && rows[2].src_line == 3);
    assert_int_equal(observations.warning_count, 1);
    assert_non_null(strstr(observations.warnings[0].message, "'colour' is no column that is read"));
    assert_int_equal(observations.warnings[0].column, 33);
    release();
}

TEST(derives)
{
    struct psnap_error error;

    assert_int_equal(read_text("code,machine,size,cpi_pipeline,cpi_memory,hits2,hits3,latency2,"
                               "latency3\ncg,A,10,1,0.5,0.025,0.005,10,200\n"
                               "cg,A,11,1,0.5,0.025,,10,\ncg,A,12,1,0.5,90,5,10,200\n",
                               &error),
                     PSNAP_OK);
    assert_true(observations.rows[0].cpi == 1.5 && observations.rows[0].levels == 2);
    assert_true(observations.rows[0].hits[1] == 0.005 && observations.rows[0].latencies[1] == 200);
    assert_true(observations.rows[1].levels == 0 && isnan(observations.rows[1].latencies[1]));
    assert_int_equal(observations.warning_count, 1);
    assert_non_null(strstr(observations.warnings[0].message, "more than one hit per instruction"));
    release();
}

#define COLUMNS "code,machine,size,replicate,cpi"

TEST(names_mistakes)
{
    static const char *const cases[][2] = {
        {"\n", "in: there are no observations in it"},
        {COLUMNS "\n", "in: there are no observations in it"},
        {"code;machine;size;replicate;cpi\ncg;A;1;1;1\n", "in:1:1: there are no columns 'code'"},
        {"code,machine,size,replicate\ncg,A,1,1\n", "in:1:1: no column 'cpi'"},
        {COLUMNS ",cpi\n", "in:1:33: two columns are called 'cpi'"},
        {COLUMNS ",hits2,hits4\n", "in:1:39: there is no column 'hits3': all levels are needed"},
        {COLUMNS "\ncg,A,1,1\n", "in:2:1: 4 fields, but there are 5 columns"},
        {COLUMNS "\ncg,A,1,1,2,3\n", "in:2:12: 6 fields, but there are 5 columns"},
        {COLUMNS "\n,A,1,1,2\n", "in:2:1: the code or the machine has no name"},
        {COLUMNS "\ncg, ,1,1,2\n", "in:2:1: the code or the machine has no name"},
        {COLUMNS "\ncg,A,W,1,2\n", "in:2:6: size is 'W': a number above 0 is needed"},
        {COLUMNS "\ncg,A,NaN,1,2\n", "in:2:6: size is 'NaN': a number above 0 is needed"},
        {COLUMNS "\ncg,A,,1,2\n", "in:2:6: there is no size"},
        {COLUMNS "\ncg,A,0,1,2\n", "in:2:6: size is '0'"},
        {COLUMNS "\ncg,A,1,1,nan\n", "in:2:10: cpi is 'nan': a number above 0 is needed"},
        {COLUMNS "\ncg,A,1,1,inf\n", "in:2:10: cpi is 'inf'"},
        {COLUMNS "\ncg,A,1,1,1e99\n", "in:2:10: cpi is '1e99'"},
        {COLUMNS "\ncg,A,1,1,-2\n", "in:2:10: cpi is '-2'"},
        {COLUMNS "\ncg,A,1,1,0\n", "in:2:10: cpi is '0'"},
        {COLUMNS "\ncg,A,1,1,\n", "in:2:10: there is no cpi"},
        {COLUMNS ",cpi_memory\ncg,A,1,1,2,-0.1\n", "in:2:12: cpi_memory is '-0.1'"},
        {COLUMNS ",cpi_memory\ncg,A,1,1,2,3\n",
         "in:2:10: cpi is 2, cpi_pipeline -1 and cpi_memory 3: parts have to add up"},
        {COLUMNS ",cpi_pipeline,cpi_memory\ncg,A,1,1,2,1,1.5\n",
         "in:2:10: cpi is 2, cpi_pipeline 1 and cpi_memory 1.5"},
        {COLUMNS ",hits2\ncg,A,1,1,2,-1\n", "in:2:12: hits2 is '-1': a number from 0 on"},
        {COLUMNS ",latency2\ncg,A,1,1,2,0\n", "in:2:12: latency2 is '0': a number above 0"},
        {COLUMNS "\ncg,A,1,1,2\ncg,B,1,1,2\ncg,A,1,1,3\n",
         "in:4: replicate '1' of code 'cg' on machine 'A' at size 1 is in 'in' already, on line 2"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct psnap_error error = {0};
        char text[1024] = "no error";
        if (read_text(cases[i][0], &error) != PSNAP_OK)
            psnap_error_format(&error, text, sizeof text);
        if (strncmp(text, cases[i][1], strlen(cases[i][1])) != 0)
            fail_msg("'%s' is not '%s'", text, cases[i][1]);
        release();
    }
}
