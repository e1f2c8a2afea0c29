/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How commands end: messages on stderr as "psnap COMMAND: message", exit
 * statuses, and the closing look at stdout without which a full disk or a
 * closed pipe would pass for success. A closed pipe ends a command in silence.
 * And what all reports say alike: of which part of a run something is.
 */
#include "formats/base/cmd.h"
#include "formats/base/cmd_timing.h"
#include "formats/base/json.h"
#include "formats/base/text.h"
#include "formats/base/yaml.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void (*sigpipe_before)(int) = SIG_DFL;

static bool fails_in_json, is_cut_off;

void psnap_cmd_fail_in_json(bool in_json)
{
    fails_in_json = in_json;
}

void psnap_cmd_begin_json(struct psnap_json *json, FILE *file, const char *command)
{
    psnap_json_init(json, file);
    psnap_json_begin_object(json, NULL);
    psnap_json_u64(json, "psnap", 1);
    psnap_json_text(json, "command", command);
    if (is_cut_off)
        psnap_json_bool(json, "cut_off", true);
}

/* Where nothing is known of a place its members are null. */
static void print_json(const char *command, const struct psnap_error *error)
{
    struct psnap_json json;

    psnap_cmd_begin_json(&json, stdout, command);
    psnap_json_begin_object(&json, "error");
    psnap_json_text(&json, "message", error->message);
    if (error->file[0])
        psnap_json_text(&json, "file", error->file);
    else
        psnap_json_real(&json, "file", NAN);
    psnap_json_real(&json, "line", error->src_line ? (double)error->src_line : NAN);
    psnap_json_real(&json, "column", error->column ? (double)error->column : NAN);
    psnap_json_end_object(&json);
    psnap_json_end_object(&json);
    fputc('\n', stdout);
    fflush(stdout);
}

int psnap_cmd_fail(const char *command, const struct psnap_error *error)
{
    char text[1024];

    psnap_timing_fail();
    if (error->code == PSNAP_ERROR_CLOSED)
        return PSNAP_EXIT_CLOSED;
    if (fails_in_json)
        print_json(command, error);
    psnap_print(stderr, "psnap %s: %s\n", command, psnap_error_format(error, text, sizeof text));
    return error->code == PSNAP_ERROR_USAGE ? PSNAP_EXIT_USAGE : PSNAP_EXIT_FAILED;
}

void psnap_cmd_warn(const struct psnap_error *error)
{
    char text[1024];

    psnap_print(stderr, "psnap: warning: %s\n", psnap_error_format(error, text, sizeof text));
}

void psnap_cmd_cut_off(const struct psnap_error *error)
{
    is_cut_off = true;
    psnap_cmd_warn(error);
}

int psnap_cmd_usage(const char *command, const char *format, ...)
{
    struct psnap_error error = {.code = PSNAP_ERROR_USAGE};
    va_list arguments;

    psnap_timing_fail();
    va_start(arguments, format);
    vsnprintf(error.message, sizeof error.message, format, arguments);
    va_end(arguments);
    if (fails_in_json)
        print_json(command, &error);
    psnap_print(stderr, "psnap %s: %s", command, error.message);
    psnap_print(stderr, "\n'psnap %s --help' says how it is used\n", command);
    return PSNAP_EXIT_USAGE;
}

void psnap_cmd_ignore_sigpipe(void)
{
    sigpipe_before = signal(SIGPIPE, SIG_IGN);
}

void psnap_cmd_restore_sigpipe(void)
{
    signal(SIGPIPE, sigpipe_before);
}

int psnap_cmd_close_stdout(const char *command, int status)
{
    const bool failed_before = ferror(stdout); /* whose reason is gone */
    struct psnap_error error;

    /* The output is cut off already: writing one byte more tells the reason again. */
    if (fflush(stdout) || (failed_before && write(STDOUT_FILENO, "\n", 1) < 0))
        psnap_error_system(&error, errno, "cannot write standard output");
    else if (failed_before)
        psnap_error_set(&error, PSNAP_ERROR_IO, "cannot write standard output");
    else
        return status;
    return psnap_cmd_fail(command, &error);
}

void psnap_print_part(const struct psnap_sampling *part, int width)
{
    char digits[32];

    for (const char *const *name = part->regions; name && *name; name++)
        psnap_print(stdout, "%-*s%s", name == part->regions ? width : 2,
                    name == part->regions ? "roi" : ",", *name);
    if (part->regions)
        putchar('\n');
    if (part->skip || part->count || part->is_empty)
        psnap_print(stdout, "%-*sfrom access %s on", width, "part",
                    psnap_group_digits(part->skip, digits));
    if (part->count || part->is_empty)
        psnap_print(stdout, ", %s of them", psnap_group_digits(part->count, digits));
    if (part->skip || part->count || part->is_empty)
        putchar('\n');
    if (!part->window)
        return;
    psnap_print(stdout, "%-*s%s accesses", width, "sample",
                psnap_group_digits(part->window, digits));
    psnap_print(stdout, " of each %s", psnap_group_digits(part->period, digits));
    psnap_print(stdout, ", %s windows", psnap_group_digits(part->windows, digits));
    psnap_print(stdout, " of a run of %s\n", psnap_group_digits(part->run_accesses, digits));
}

void psnap_json_part(struct psnap_json *json, const struct psnap_sampling *part)
{
    if (part->regions) {
        psnap_json_begin_array(json, "roi");
        for (const char *const *name = part->regions; *name; name++)
            psnap_json_text(json, NULL, *name);
        psnap_json_end_array(json);
    }
    if (part->skip)
        psnap_json_u64(json, "skip", part->skip);
    if (part->count || part->is_empty)
        psnap_json_u64(json, "count", part->count);
    if (!part->window)
        return;
    psnap_json_u64(json, "window", part->window);
    psnap_json_u64(json, "period", part->period);
    psnap_json_u64(json, "windows", part->windows);
    psnap_json_u64(json, "run_accesses", part->run_accesses);
}

/* Writes a plain scalar that is a number, or a size in bytes, as a number, any other one as text.
 */
static void json_scalar(struct psnap_json *json, const struct psnap_yaml_node *node)
{
    const char *text = node->text;
    const bool is_size = node->key && psnap_text_ends_in(node->key, "_bytes");
    const bool is_number = !node->quoted && *text && !text[strspn(text, "+-.0123456789eE")];
    uint64_t size;
    int64_t negative;

    if ((!node->quoted && is_size && psnap_text_size(text, &size)) ||
        (is_number && psnap_text_u64(text, &size)))
        psnap_json_u64(json, node->key, size);
    else if (!is_number)
        psnap_json_text(json, node->key, text);
    else if (psnap_text_i64(text, &negative))
        psnap_json_i64(json, node->key, negative);
    else
        psnap_json_real(json, node->key, strtod(text, NULL));
}

void psnap_cmd_json_node(struct psnap_json *json, const struct psnap_yaml_node *node)
{
    const bool is_map = node->kind == PSNAP_YAML_MAP;

    if (node->kind == PSNAP_YAML_SCALAR) {
        json_scalar(json, node);
        return;
    }
    (is_map ? psnap_json_begin_object : psnap_json_begin_array)(json, node->key);
    for (const struct psnap_yaml_node *child = node->first; child; child = child->next)
        psnap_cmd_json_node(json, child);
    (is_map ? psnap_json_end_object : psnap_json_end_array)(json);
}

char *psnap_cmd_content(FILE *file, size_t *size)
{
    const long length = fseek(file, 0, SEEK_END) ? -1 : ftell(file);
    char *text = length >= 0 ? malloc((size_t)length + 1) : NULL;

    if (!text || fseek(file, 0, SEEK_SET)) {
        free(text);
        return NULL;
    }
    *size = fread(text, 1, (size_t)length, file);
    text[*size] = '\0';
    return text;
}
