/* SPDX-License-Identifier: BSD-3-Clause */
/* Options, tables and messages of the commands. */
#include <signal.h>
#include <unistd.h>

#include "formats/base/cmd.h"
#include "formats/base/cmd_csv.h"
#include "formats/base/text.h"
#include "tests/unit/test.h"

#define HIDDEN PSNAP_TEXT_HIDDEN

struct values {
    bool json, loud;
    const char *output;
    const char *cache;
    struct psnap_text_list machines;
    uint64_t count, size;
    double rate;
};

static char said[4096]; /* what the last parse printed to stdout and stderr */

static int redirect(int fd, FILE *to)
{
    const int saved = dup(fd);

    dup2(fileno(to), fd);
    return saved;
}

/* Parses the words (NULL-terminated, changed in place) and keeps what is printed. */
static int parse(char **words, struct values *values, bool stop, int *status)
{
    const struct psnap_option options[] = {
        {PSNAP_OPTION_FLAG, 'j', "json", &values->json, NULL, "as JSON"},
        {PSNAP_OPTION_FLAG, 'l', NULL, &values->loud, NULL, "two\nlines"},
        {PSNAP_OPTION_TEXT, 'o', "output", &values->output, "FILE", "write FILE"},
        {PSNAP_OPTION_LIST, 'm', "machine", &values->machines, "MACHINE", "a machine"},
        {PSNAP_OPTION_U64, 0, "count", &values->count, "N", "how many"},
        {PSNAP_OPTION_SIZE, 's', "size", &values->size, "BYTES", "how large"},
        {PSNAP_OPTION_ONCE, 'c', "cache", &values->cache, "CACHE", "one of them"},
        {PSNAP_OPTION_REAL, 'r', "rate-of-sampling-by-line", &values->rate, "R", "how often"},
        {.type = PSNAP_OPTION_END},
    };
    const struct psnap_usage usage = {"psnap test FILE", "A test.", options};
    FILE *file = tmpfile();
    int argc = 0, out, err, operands;
    size_t length;

    while (words[argc])
        argc++;
    fflush(stdout);
    out = redirect(STDOUT_FILENO, file);
    err = redirect(STDERR_FILENO, file);
    operands = psnap_options_parse(argc, words, &usage, stop, status);
    fflush(stdout);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    close(out);
    close(err);
    rewind(file);
    length = fread(said, 1, sizeof said - 1, file);
    said[length] = '\0';
    fclose(file);
    return operands;
}

#define WORDS(...) ((char *[]){"test", __VA_ARGS__, NULL})

TEST(options_and_operands_mix)
{
    struct values values = {0};
    char **words = WORDS("one", "-j", "--output=out", "two", "-m", "a", "-mb", "--machine", "c",
                         "--count", "0x10", "-", "-s32K", "-r", "0.5", "--", "-x", "--json");
    int status;

    assert_int_equal(parse(words, &values, false, &status), 5);
    assert_int_equal(status, 0);
    assert_string_equal(words[1], "one");
    assert_string_equal(words[2], "two");
    assert_string_equal(words[3], "-");
    assert_string_equal(words[4], "-x");
    assert_string_equal(words[5], "--json");
    assert_true(values.json);
    assert_false(values.loud);
    assert_string_equal(values.output, "out");
    assert_int_equal(values.machines.count, 3);
    assert_string_equal(values.machines.items[0], "a");
    assert_string_equal(values.machines.items[1], "b");
    assert_string_equal(values.machines.items[2], "c");
    assert_int_equal(values.count, 16);
    assert_int_equal(values.size, 32768);
    assert_true(values.rate == 0.5);
    assert_string_equal(said, "");
    psnap_text_list_release(&values.machines);
    assert_null(values.machines.items);
}

TEST(letters_stand_together)
{
    struct values values = {0};
    int status;

    assert_int_equal(parse(WORDS("-jlofile"), &values, false, &status), 0);
    assert_true(values.json && values.loud);
    assert_string_equal(values.output, "file");
    assert_int_equal(parse((char *[]){"test", NULL}, &values, false, &status), 0);
}

TEST(parsing_may_stop_at_the_first_operand)
{
    struct values values = {0};
    char **words = WORDS("-j", "program", "-l", "--", "x");
    int status;

    assert_int_equal(parse(words, &values, true, &status), 4);
    assert_true(values.json);
    assert_false(values.loud);
    assert_string_equal(words[1], "program");
    assert_string_equal(words[2], "-l");
    assert_string_equal(words[3], "--");

    words = WORDS("--", "-l");
    assert_int_equal(parse(words, &values, true, &status), 1);
    assert_string_equal(words[1], "-l");
}

static void check_mistake(char **words, const char *message)
{
    struct values values = {0};
    char expected[512];
    int status;

    snprintf(expected, sizeof expected, "psnap test: %s\n'psnap test --help' says how it is used\n",
             message);
    assert_int_equal(parse(words, &values, false, &status), -1);
    assert_int_equal(status, PSNAP_EXIT_USAGE);
    assert_string_equal(said, expected);
    psnap_text_list_release(&values.machines);
}

TEST(mistakes_name_the_option)
{
    check_mistake(WORDS("--jsn"), "no option '--jsn'; did you mean '--json'?");
    check_mistake(WORDS("-c", "one", "--cache=two"), "-c, --cache CACHE: given more than once");
    check_mistake(WORDS("--machin=x"), "no option '--machin'; did you mean '--machine'?");
    check_mistake(WORDS("--hlep"), "no option '--hlep'; did you mean '--help'?");
    check_mistake(WORDS("--helpp"), "no option '--helpp'; did you mean '--help'?");
    check_mistake(WORDS("--zzzzzzzz"), "no option '--zzzzzzzz'");
    check_mistake(WORDS("--="), "no option '--'");
    check_mistake(WORDS("-x"), "no option '-x'");
    check_mistake(WORDS("-j\xc3\xa4"), "no option '-\xc3\xa4'");
    check_mistake(WORDS("--json=yes"), "'--json' takes no value");
    check_mistake(WORDS("-o"), "-o, --output FILE: the value is missing");
    check_mistake(WORDS("--count"), "--count N: the value is missing");
    check_mistake(WORDS("--count", "--", "3"), "--count N: the value is missing");
    check_mistake(WORDS("-o", "--", "program"), "-o, --output FILE: the value is missing");
    check_mistake(WORDS("--count", "-1"),
                  "--count N: '-1' is not a whole number from 0 to 18446744073709551615");
    check_mistake(WORDS("-s", "1.5K"),
                  "-s, --size BYTES: '1.5K' is not a size such as 4096, 32K or 1M");
    check_mistake(WORDS("-rnan"), "-r, --rate-of-sampling-by-line R: 'nan' is not a number");
}

TEST(help_is_made_from_the_table)
{
    struct values values = {0};
    int status = 5;

    assert_int_equal(parse(WORDS("x", "--help", "--nonsense"), &values, false, &status), -1);
    assert_int_equal(status, PSNAP_EXIT_DONE);
    assert_string_equal(said, "usage: psnap test FILE\n"
                              "\n"
                              "A test.\n"
                              "\n"
                              "options:\n"
                              "  -j, --json                  as JSON\n"
                              "  -l                          two\n"
                              "                              lines\n"
                              "  -o, --output FILE           write FILE\n"
                              "  -m, --machine MACHINE       a machine\n"
                              "  --count N                   how many\n"
                              "  -s, --size BYTES            how large\n"
                              "  -c, --cache CACHE           one of them\n"
                              "  -r, --rate-of-sampling-by-line R\n"
                              "                              how often\n"
                              "  -v, --verbose               say where the time went\n"
                              "  -h, --help                  show this help\n");
    assert_int_equal(parse(WORDS("-h"), &values, false, &status), -1);
    assert_int_equal(status, PSNAP_EXIT_DONE);
}

TEST(tables_are_aligned)
{
    static const char *const headings[] = {"loop", "accesses", "note"};
    struct psnap_table *table = psnap_table_new(3, headings);
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    psnap_table_align_right(table, 1);
    psnap_table_cell(table, "caf\xc3\xa9:%d", 30);
    psnap_table_cell(table, "%d", 7);
    psnap_table_cell(table, "%s", "");
    psnap_table_cell(table, "x");
    psnap_table_cell(table, "123456789");
    psnap_table_cell(table, "y");
    psnap_table_cell(table, "last"); /* a row that is not full */
    assert_int_equal(psnap_table_width(table), 7 + 2 + 9 + 2 + 4);
    psnap_table_print(table, file);
    psnap_table_free(table);
    psnap_table_free(NULL);
    fclose(file);
    assert_string_equal(text, "loop      accesses  note\n"
                              "caf\xc3\xa9:30          7\n"
                              "x        123456789  y\n"
                              "last\n");
    free(text);
}

TEST(names_do_not_steer_terminals)
{
    static const char *const names[][2] = {
        {"a\033[2J\033]0;b\a", "a" HIDDEN "[2J" HIDDEN "]0;b" HIDDEN},
        {"row\nrow\r\t", "row" HIDDEN "row" HIDDEN HIDDEN},
        {"caf\xc3\xa9 \xc2\x9b \x9b \xe2\x80\xae", "caf\xc3\xa9 " HIDDEN " " HIDDEN " " HIDDEN},
        {"cut \xe2\x80", "cut " HIDDEN HIDDEN},
        {" ", " "}};
    static const char *const headings[] = {"name"};
    char wanted[256], *text = NULL;
    size_t size;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        FILE *file = open_memstream(&text, &size);
        struct psnap_table *table = psnap_table_new(1, headings);
        psnap_print(file, "\r%d\t%s\n\033[K%c%s\n", 7, names[i][0], 'x', names[i][0]);
        psnap_table_cell(table, "%s|", names[i][0]);
        psnap_table_print(table, file);
        psnap_table_free(table);
        fclose(file);
        snprintf(wanted, sizeof wanted, "\r7\t%s\n\033[Kx%s\nname\n%s|\n", names[i][1], names[i][1],
                 names[i][1]);
        assert_string_equal(text, wanted);
        free(text);
    }
}

TEST(cells_are_no_formulas)
{
    static const char *const cells[][2] = {{"plain", "plain"},
                                           {"", ""},
                                           {"a,b", "\"a,b\""},
                                           {"a\"b", "\"a\"\"b\""},
                                           {"=1+1", "'=1+1"},
                                           {"@SUM(A1)", "'@SUM(A1)"},
                                           {"+cmd", "'+cmd"},
                                           {"-3.5", "-3.5"},
                                           {"+7", "+7"},
                                           {"-1e-3", "-1e-3"},
                                           {"-", "'-"},
                                           {"-2+3", "'-2+3"},
                                           {"=a,\"b\"", "\"'=a,\"\"b\"\"\""},
                                           {"\t=1", HIDDEN "=1"},
                                           {"\r=1", HIDDEN "=1"},
                                           {"a\nb", "a" HIDDEN "b"},
                                           {"\xc2\x9b", HIDDEN}};

    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
        char *text = NULL, wanted[64];
        size_t size;
        FILE *file = open_memstream(&text, &size);
        struct psnap_csv csv;
        psnap_csv_init(&csv, file);
        psnap_csv_u64(&csv, 1);
        psnap_csv_text(&csv, cells[i][0]);
        psnap_csv_real(&csv, -0.5);
        psnap_csv_end(&csv);
        fclose(file);
        snprintf(wanted, sizeof wanted, "1,%s,-0.5\n", cells[i][1]);
        assert_string_equal(text, wanted);
        free(text);
    }
}

TEST(digits_are_grouped)
{
    char text[32];

    assert_string_equal(psnap_group_digits(0, text), "0");
    assert_string_equal(psnap_group_digits(999, text), "999");
    assert_string_equal(psnap_group_digits(1000, text), "1,000");
    assert_string_equal(psnap_group_digits(12345678, text), "12,345,678");
    assert_string_equal(psnap_group_digits(UINT64_MAX, text), "18,446,744,073,709,551,615");
}

TEST(failures_choose_the_exit_status)
{
    struct psnap_error error;
    FILE *file = tmpfile();
    char line[256] = {0};
    int err;

    psnap_error_set(&error, PSNAP_ERROR_SYNTAX, "bad");
    psnap_error_at(&error, "a.yaml", 2, 3);
    err = redirect(STDERR_FILENO, file);
    assert_int_equal(psnap_cmd_fail("sim", &error), PSNAP_EXIT_FAILED);
    psnap_error_set(&error, PSNAP_ERROR_USAGE, "no such thing");
    assert_int_equal(psnap_cmd_fail("sim", &error), PSNAP_EXIT_USAGE);
    dup2(err, STDERR_FILENO);
    close(err);
    rewind(file);
    assert_non_null(fgets(line, sizeof line, file));
    assert_string_equal(line, "psnap sim: a.yaml:2:3: bad\n");
    fclose(file);
}

TEST(sigpipe_is_ignored_and_restored)
{
    struct sigaction action;

    psnap_cmd_ignore_sigpipe();
    sigaction(SIGPIPE, NULL, &action);
    assert_true(action.sa_handler == SIG_IGN);
    psnap_cmd_restore_sigpipe();
    sigaction(SIGPIPE, NULL, &action);
    assert_true(action.sa_handler == SIG_DFL);
}
