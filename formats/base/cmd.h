/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the commands share: declarative options that also print the help,
 * aligned tables, error messages and exit statuses. Part of the program, not
 * of the library.
 *
 * Exit status: 0 done, 1 failed or threshold missed, 2 wrong usage, 141 when who
 * reads the output has gone (`| head`), which is nothing to talk about. Data goes
 * to stdout, everything else to stderr.
 */
#ifndef PSNAP_BASE_CMD_H
#define PSNAP_BASE_CMD_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "formats/base/json.h"
#include "formats/base/program.h"
#include "formats/base/status.h"

#define PSNAP_EXIT_DONE 0
#define PSNAP_EXIT_FAILED 1
#define PSNAP_EXIT_USAGE 2
#define PSNAP_EXIT_CLOSED 141 /* 128 + SIGPIPE: as of filters that die of it, without a word */

/* The commands, each in the cmd_NAME.c of the folder it drives (psnap.c holds the table). */
int psnap_cmd_cc(int argc, char **argv);
int psnap_cmd_collect(int argc, char **argv);
int psnap_cmd_doctor(int argc, char **argv);
int psnap_cmd_cxx(int argc, char **argv);
int psnap_cmd_fc(int argc, char **argv);
int psnap_cmd_record(int argc, char **argv);
int psnap_cmd_help(int argc, char **argv);
int psnap_cmd_hybrid(int argc, char **argv);
int psnap_cmd_convert(int argc, char **argv);
int psnap_cmd_formats(int argc, char **argv);
int psnap_cmd_info(int argc, char **argv);
int psnap_cmd_compare(int argc, char **argv);
int psnap_cmd_fit(int argc, char **argv);
int psnap_cmd_machine(int argc, char **argv);
int psnap_cmd_machines(int argc, char **argv);
int psnap_cmd_multimaps(int argc, char **argv);
int psnap_cmd_sim(int argc, char **argv);
int psnap_cmd_sweep(int argc, char **argv);
int psnap_cmd_locality(int argc, char **argv);
int psnap_cmd_predict(int argc, char **argv);
int psnap_cmd_report(int argc, char **argv);
int psnap_cmd_reuse(int argc, char **argv);
int psnap_cmd_check(int argc, char **argv);
int psnap_cmd_diff(int argc, char **argv);
int psnap_cmd_edit(int argc, char **argv);
int psnap_cmd_merge(int argc, char **argv);
int psnap_cmd_profile(int argc, char **argv);
int psnap_cmd_replay(int argc, char **argv);
int psnap_cmd_repo(int argc, char **argv);
int psnap_cmd_run(int argc, char **argv);
int psnap_cmd_show(int argc, char **argv);
int psnap_cmd_whatif(int argc, char **argv);

/* A command: psnap.c holds the table of them. argv[0] is the command's name. */
struct psnap_command {
    const char *name;
    const char *summary; /* one line of `psnap help`; NULL: it is not for people */
    int (*run)(int argc, char **argv);
    const struct psnap_command *parts; /* "predict cache" of "predict", up to one without a name */
};

extern const struct psnap_command psnap_predict_models[], psnap_repo_commands[];

/* Runs the part of a command that argv[1] names, or lists them; `what` they are ("model") is the
 * word for one in messages. Returns the exit status. */
int psnap_cmd_part(const char *command, const char *synopsis, const char *what,
                   const struct psnap_command *parts, int argc, char **argv);

enum psnap_option_type {
    PSNAP_OPTION_END = 0,
    PSNAP_OPTION_FLAG,  /* bool * */
    PSNAP_OPTION_TEXT,  /* const char ** */
    PSNAP_OPTION_ONCE,  /* the same, NULL before; given twice it is wrong usage */
    PSNAP_OPTION_LIST,  /* struct psnap_text_list *: may be given several times */
    PSNAP_OPTION_U64,   /* uint64_t *, decimal or 0x */
    PSNAP_OPTION_SIZE,  /* uint64_t *, takes K M G T */
    PSNAP_OPTION_COUNT, /* the same, but no bytes */
    PSNAP_OPTION_REAL   /* double *, finite */
};

struct psnap_text_list {
    const char **items; /* owned by the list; the texts belong to argv */
    size_t count;
};

struct psnap_option {
    enum psnap_option_type type;
    char letter;      /* 0 for none */
    const char *name; /* long name without dashes, NULL for none */
    void *value;
    const char *argument; /* how help calls the value: "FILE"; NULL for flags */
    const char *help;
};

struct psnap_usage {
    const char *synopsis;    /* "psnap sim INPUT -m MACHINE [-m ...] [--json]" */
    const char *description; /* a paragraph or two, wrapped by hand at 78 columns; may be NULL */
    const struct psnap_option *options; /* ended by PSNAP_OPTION_END */
};

/*
 * Parses argv[1..): options and operands in any order, "--name=value",
 * "--name value", "-nvalue", "-n value", "--" ends options, a lone "-" is an
 * operand. On success returns the number of operands, moved to argv[1..];
 * `stop_at_operand` ends parsing at the first operand (for `record PROG ARGS`).
 * Prints help for -h and --help and returns -1 with *exit_status 0; prints the
 * mistake (and the nearest option name) and returns -1 with *exit_status 2.
 */
int psnap_options_parse(int argc, char **argv, const struct psnap_usage *usage,
                        bool stop_at_operand, int *exit_status);

/* -v, --verbose, which every command has whose table has none. */
extern const struct psnap_option psnap_option_verbose;

/* Prints the usage of a command to stdout; the parser does so for --help. */
void psnap_usage_print(const struct psnap_usage *usage);

/* "-m, --machine MACHINE": what help and messages call an option. */
void psnap_option_describe(const struct psnap_option *option, char *text, size_t size);

void psnap_text_list_release(struct psnap_text_list *list);

/* Prints "psnap COMMAND: message" to stderr with the error's place; returns PSNAP_EXIT_FAILED, or
 * PSNAP_EXIT_USAGE for PSNAP_ERROR_USAGE; silent, PSNAP_EXIT_CLOSED for PSNAP_ERROR_CLOSED. */
int psnap_cmd_fail(const char *command, const struct psnap_error *error);
/* Whether what psnap_cmd_fail and psnap_cmd_usage say goes to standard output as well, as an
 * object: {"psnap": 1, "command": ..., "error": {...}}. psnap_options_parse calls it where --json
 * is given. */
void psnap_cmd_fail_in_json(bool in_json);
bool psnap_cmd_is_json(int argc, char **argv); /* --json is among the arguments, before any -- */

/* Writes a node of a YAML document, with its key if it has one. */
struct psnap_yaml_node;
void psnap_cmd_json_node(struct psnap_json *json, const struct psnap_yaml_node *node);

/* All that was written to an unnamed file, with '\0' behind; the caller frees it. NULL: it cannot
 * be read, or memory is out. */
char *psnap_cmd_content(FILE *file, size_t *size);

/* Prints "psnap: warning: message" to stderr with the error's place. */
void psnap_cmd_warn(const struct psnap_error *error);
/* The same of an input that ends too early: reports in JSON that begin later have "cut_off": true.
 */
void psnap_cmd_cut_off(const struct psnap_error *error);

/* Prints "psnap COMMAND: message" and a pointer to --help; returns PSNAP_EXIT_USAGE. */
int psnap_cmd_usage(const char *command, const char *format, ...) PSNAP_PRINTF(2, 3);

/*
 * A closed pipe becomes a write error instead of a death that leaves things behind;
 * called once, by main. A command that starts another program calls restore in
 * the child before exec (or after it, when exec failed, ignore again): the
 * other program must find signals as psnap found them.
 */
void psnap_cmd_ignore_sigpipe(void);
void psnap_cmd_restore_sigpipe(void);

/* Flushes stdout and reports a full disk or closed pipe; returns `status` when all is well. */
int psnap_cmd_close_stdout(const char *command, int status);

_Noreturn void psnap_cmd_out_of_memory(void);

/*
 * Prints for people, like fprintf: of the arguments, names that may be anything, characters that a
 * terminal would obey are replaced (psnap_text_shown), control characters of the format are not.
 * The text that is printed is the caller's to free. Out of memory ends the program.
 */
void psnap_print(FILE *file, const char *format, ...) PSNAP_PRINTF(2, 3);
void psnap_vprint(FILE *file, const char *format, va_list arguments) PSNAP_PRINTF(2, 0);
char *psnap_shown_text(const char *format, va_list arguments) PSNAP_PRINTF(1, 0);
char *psnap_shown(const char *format, ...) PSNAP_PRINTF(1, 2);

/*
 * Tables for people: cells are texts; columns are as wide as their widest cell
 * (in UTF-8 characters), numbers to the right. Rows and headings are copied.
 * Their texts are filtered like psnap_print's, and out of memory ends the program, so nothing here
 * can fail.
 */
struct psnap_table;
struct psnap_table *psnap_table_new(size_t columns, const char *const *headings);
void psnap_table_align_right(struct psnap_table *table, size_t column);
/* Long texts of this column (ids of templates) lose their middle, as little of it as leaves
 * different texts different: "std::vector<...>::push_back:105". */
void psnap_table_shorten(struct psnap_table *table, size_t column);
/* Adds one cell; cells fill rows in order. */
void psnap_table_cell(struct psnap_table *table, const char *format, ...) PSNAP_PRINTF(2, 3);
void psnap_table_print(const struct psnap_table *table, FILE *file);
/* The width that it is printed in. */
size_t psnap_table_width(const struct psnap_table *table);
/* The columns of the terminal that standard output is, by COLUMNS if that is set; SIZE_MAX: it is
 * none. */
size_t psnap_terminal_columns(void);
void psnap_table_free(struct psnap_table *table);

/* What a report is written as. */
enum psnap_report_form { PSNAP_REPORT_TABLE, PSNAP_REPORT_JSON, PSNAP_REPORT_CSV };

/* Begins the object that a report in JSON is, which says of which command it is. */
void psnap_cmd_begin_json(struct psnap_json *json, FILE *file, const char *command);

/* Says of which part of a run something is: what names a line is `width` wide. Nothing when it is
 * of all of it. */
void psnap_print_part(const struct psnap_sampling *part, int width);

/* The same as members: roi, skip, count; window, period, windows and run_accesses. */
void psnap_json_part(struct psnap_json *json, const struct psnap_sampling *part);

/* The ending of what there are `n` of: "1 loop", "2 loops". */
static inline const char *psnap_plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

/* "12,345,678" into a caller's buffer of at least 32 bytes; returns it. */
char *psnap_group_digits(uint64_t value, char buffer[32]);

#endif
