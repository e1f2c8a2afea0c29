/* SPDX-License-Identifier: BSD-3-Clause */
/* Output files appear whole or not at all, and only where they may. */
#include <errno.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/base/output.h"
#include "tests/unit/test.h"

/* Each test runs in an empty directory of its own. */
static char start[4096];

static int enter(void **state)
{
    char *directory = strdup("/tmp/psnap-output-XXXXXX");

    if (!getcwd(start, sizeof start) || !mkdtemp(directory) || chdir(directory))
        return -1;
    *state = directory;
    return 0;
}

static int leave(void **state)
{
    char command[128];
    const int status = chdir(start);

    snprintf(command, sizeof command, "rm -rf '%s'", (char *)*state);
    free(*state);
    return system(command) || status;
}

static int count_files(void)
{
    DIR *directory = opendir(".");
    int count = 0;

    while (readdir(directory))
        count++;
    closedir(directory);
    return count - 2; /* . and .. */
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void check_file(const char *path, const char *expected)
{
    char text[256] = {0};
    FILE *file = fopen(path, "r");

    assert_non_null(file);
    assert_int_equal(fread(text, 1, sizeof text - 1, file), strlen(expected));
    assert_string_equal(text, expected);
    fclose(file);
}

TEST_WITHIN(enter, leave, file_appears_at_commit)
{
    struct psnap_error error;
    struct psnap_output *output = psnap_output_open("new", false, &error);
    struct stat status;

    umask(022);
    assert_non_null(output);
    fputs("content", psnap_output_file(output));
    fflush(psnap_output_file(output));
    assert_int_equal(access("new", F_OK), -1);
    assert_int_equal(psnap_output_commit(output, &error), PSNAP_OK);
    check_file("new", "content");
    assert_int_equal(count_files(), 1);
    stat("new", &status);
    assert_int_equal(status.st_mode & 0777, 0644);
}

/* Room that was taken and not needed is none of the file's; nor can devices have it. */
TEST_WITHIN(enter, leave, reserved_room_is_given_back)
{
    struct psnap_error error;
    struct psnap_output *output = psnap_output_open("new", false, &error);
    struct psnap_output *device = psnap_output_open("/dev/null", false, &error);
    struct stat status;

    psnap_output_reserve(output, 1 << 20);
    fputs("content", psnap_output_file(output));
    assert_int_equal(psnap_output_commit(output, &error), PSNAP_OK);
    check_file("new", "content");
    stat("new", &status);
    assert_in_range(status.st_blocks, 0, 64);
    psnap_output_reserve(device, 1 << 20);
    assert_int_equal(psnap_output_commit(device, &error), PSNAP_OK);
}

TEST_WITHIN(enter, leave, abandoned_leaves_nothing)
{
    struct psnap_output *output = psnap_output_open("new", false, NULL);

    fputs("content", psnap_output_file(output));
    psnap_output_abandon(output);
    psnap_output_abandon(NULL);
    assert_int_equal(count_files(), 0);
}

TEST_WITHIN(enter, leave, existing_file_needs_force)
{
    struct psnap_error error;
    struct psnap_output *output;
    struct stat status;

    write_file("old", "old");
    chmod("old", 0600);
    assert_null(psnap_output_open("old", false, &error));
    assert_int_equal(error.code, PSNAP_ERROR_EXISTS);
    assert_string_equal(error.message, "'old' exists already; --force would overwrite it");

    output = psnap_output_open("old", true, &error);
    fputs("new", psnap_output_file(output));
    psnap_output_abandon(output);
    check_file("old", "old");

    output = psnap_output_open("old", true, &error);
    fputs("new", psnap_output_file(output));
    assert_int_equal(psnap_output_commit(output, &error), PSNAP_OK);
    check_file("old", "new");
    stat("old", &status);
    assert_int_equal(status.st_mode & 0777, 0600); /* as it was */
    assert_int_equal(count_files(), 1);
}

TEST_WITHIN(enter, leave, file_that_appeared_meanwhile_is_kept)
{
    struct psnap_error error;
    struct psnap_output *output = psnap_output_open("new", false, &error);

    fputs("ours", psnap_output_file(output));
    write_file("new", "theirs");
    assert_int_equal(psnap_output_commit(output, &error), PSNAP_ERROR_EXISTS);
    check_file("new", "theirs");
    assert_int_equal(count_files(), 1);
}

TEST_WITHIN(enter, leave, what_must_not_be_lost_appears_beside)
{
    struct psnap_error error;
    char name[64];

    for (int i = 0; i < 3; i++) {
        static const char *const names[] = {"new.12", "new.12.2", "new.12.3"};
        struct psnap_output *output = psnap_output_open("new", true, &error);
        fputs("ours", psnap_output_file(output));
        write_file("new", "theirs");
        assert_int_equal(psnap_output_commit_beside(output, 12, name, sizeof name, &error), 0);
        assert_string_equal(name, names[i]);
        check_file(names[i], "ours");
        check_file("new", "theirs");
    }
    struct psnap_output *output = psnap_output_open("other", false, &error);
    fputs("ours", psnap_output_file(output));
    assert_int_equal(psnap_output_commit_beside(output, 12, name, sizeof name, &error), 0);
    assert_string_equal(name, "other");
    check_file("other", "ours");
    assert_int_equal(count_files(), 5);
}

TEST_WITHIN(enter, leave, link_is_replaced_where_it_points)
{
    struct psnap_output *output;
    struct stat status;

    write_file("target", "old");
    assert_int_equal(symlink("target", "link"), 0);
    assert_null(psnap_output_open("link", false, NULL));
    output = psnap_output_open("link", true, NULL);
    fputs("new", psnap_output_file(output));
    assert_int_equal(psnap_output_commit(output, NULL), PSNAP_OK);
    check_file("target", "new");
    lstat("link", &status);
    assert_true(S_ISLNK(status.st_mode));
}

TEST_WITHIN(enter, leave, two_outputs_do_not_meet)
{
    struct psnap_output *a = psnap_output_open("a", true, NULL);
    struct psnap_output *b = psnap_output_open("a", true, NULL);

    fputs("first", psnap_output_file(a));
    fputs("second", psnap_output_file(b));
    assert_int_equal(psnap_output_commit(b, NULL), PSNAP_OK);
    check_file("a", "second");
    assert_int_equal(psnap_output_commit(a, NULL), PSNAP_OK);
    check_file("a", "first");
    assert_int_equal(count_files(), 1);
}

TEST_WITHIN(enter, leave, impossible_places_are_refused_at_once)
{
    struct psnap_error error;

    assert_null(psnap_output_open("missing/new", false, &error));
    assert_int_equal(error.code, PSNAP_ERROR_IO);
    assert_string_equal(error.message, "cannot create 'missing/new': no such file or directory");
    assert_null(psnap_output_open(".", true, &error));
    assert_string_equal(error.message, "cannot open '.': is a directory");
    write_file("file", "");
    assert_null(psnap_output_open("file/new", false, &error));
    assert_string_equal(error.message, "cannot open 'file/new': not a directory");
}

TEST_WITHIN(enter, leave, full_disk_is_an_error)
{
    struct psnap_error error;
    struct psnap_output *output = psnap_output_open("/dev/full", false, &error);

    assert_non_null(output); /* devices need no force */
    fputs("x", psnap_output_file(output));
    assert_int_equal(psnap_output_commit(output, &error), PSNAP_ERROR_IO);
    assert_string_equal(error.message, "cannot write '/dev/full': no space left on device");

    output = psnap_output_open("/dev/full", false, &error);
    for (int i = 0; i < 100000; i++) /* more than the buffer: the failure is an earlier one */
        fputs("0123456789", psnap_output_file(output));
    errno = 0;
    assert_int_equal(psnap_output_commit(output, &error), PSNAP_ERROR_IO);
    assert_string_equal(error.message, "cannot write '/dev/full': no space left on device");
}

/* The one who writes knows no file; the error that the user sees has it. */
TEST_WITHIN(enter, leave, failed_write_is_named)
{
    struct psnap_error error;
    struct psnap_output *output = psnap_output_open("/dev/full", false, &error);
    enum psnap_status status;
    char text[1024];

    fputs("x", psnap_output_file(output));
    assert_int_equal(fflush(psnap_output_file(output)), EOF);
    status = psnap_error_system(&error, errno, "cannot write");
    assert_int_equal(psnap_output_finish(output, status, &error), PSNAP_ERROR_IO);
    assert_string_equal(psnap_error_format(&error, text, sizeof text),
                        "/dev/full: cannot write: no space left on device");

    output = psnap_output_open("new", false, &error);
    status = psnap_error_set(&error, PSNAP_ERROR_VALUE, "something else");
    assert_int_equal(psnap_output_finish(output, status, &error), PSNAP_ERROR_VALUE);
    assert_string_equal(psnap_error_format(&error, text, sizeof text), "something else");
    assert_int_equal(count_files(), 0);
    output = psnap_output_open("new", false, &error);
    assert_int_equal(psnap_output_finish(output, PSNAP_OK, &error), PSNAP_OK);
    assert_int_equal(count_files(), 1);
    assert_int_equal(psnap_output_finish(NULL, PSNAP_OK, &error), PSNAP_OK);
}

TEST_WITHIN(enter, leave, one_file_of_two_paths)
{
    write_file("file", "");
    assert_int_equal(symlink("file", "link"), 0);
    assert_true(psnap_output_is_same("file", "file") && psnap_output_is_same("file", "./link"));
    assert_true(psnap_output_is_same("new", "new"));
    assert_false(psnap_output_is_same("file", "new") || psnap_output_is_same("new", "newer"));
    assert_false(psnap_output_is_same(NULL, NULL) || psnap_output_is_same("file", NULL));
    assert_false(psnap_output_is_same("/dev/null", "/dev/null") || psnap_output_is_same("-", "-"));
}

TEST_WITHIN(enter, leave, write_error_leaves_no_file)
{
    struct psnap_error error;
    struct psnap_output *output = psnap_output_open("new", false, &error);
    const int full = open("/dev/full", O_WRONLY);

    dup2(full, fileno(psnap_output_file(output))); /* the disk fills up */
    fputs("x", psnap_output_file(output));
    assert_int_equal(psnap_output_commit(output, &error), PSNAP_ERROR_IO);
    close(full);
    assert_int_equal(count_files(), 0);
}

TEST_WITHIN(enter, leave, write_error_keeps_its_reason)
{
    struct psnap_error error;
    struct psnap_output *output = psnap_output_open("new", false, &error);
    const int full = open("/dev/full", O_WRONLY);
    char block[1000] = "";

    dup2(full, fileno(psnap_output_file(output)));
    for (int i = 0; i < 1000; i++)
        fwrite(block, 1, sizeof block, psnap_output_file(output));
    errno = 0; /* other work since */
    assert_int_equal(psnap_output_commit(output, &error), PSNAP_ERROR_IO);
    assert_string_equal(error.message, "cannot write 'new': no space left on device");
    close(full);
    assert_int_equal(count_files(), 0);
}

static void *read_fifo(void *text)
{
    FILE *file = fopen("fifo", "r");

    *(size_t *)text = fread((char *)text + sizeof(size_t), 1, 64, file);
    fclose(file);
    return NULL;
}

TEST_WITHIN(enter, leave, fifo_is_written_directly)
{
    struct {
        size_t size;
        char text[64];
    } got = {0};
    struct psnap_output *output;
    pthread_t reader;

    assert_int_equal(mkfifo("fifo", 0600), 0);
    assert_int_equal(pthread_create(&reader, NULL, read_fifo, &got), 0);
    output = psnap_output_open("fifo", false, NULL);
    assert_non_null(output);
    fputs("through", psnap_output_file(output));
    assert_int_equal(psnap_output_commit(output, NULL), PSNAP_OK);
    pthread_join(reader, NULL);
    assert_int_equal(got.size, 7);
    assert_memory_equal(got.text, "through", 7);
    assert_int_equal(count_files(), 1);
}

TEST_WITHIN(enter, leave, dash_is_stdout)
{
    struct psnap_output *output = psnap_output_open("-", false, NULL);

    assert_ptr_equal(psnap_output_file(output), stdout);
    assert_int_equal(psnap_output_commit(output, NULL), PSNAP_OK);
    assert_true(fcntl(STDOUT_FILENO, F_GETFD) >= 0); /* still open */
    psnap_output_abandon(psnap_output_open("-", false, NULL));
    assert_true(fcntl(STDOUT_FILENO, F_GETFD) >= 0);
    assert_int_equal(count_files(), 0);
    assert_true(psnap_output_is_stdout("-") && psnap_output_is_stdout("/dev/stdout"));
    assert_false(psnap_output_is_stdout("./-") || psnap_output_is_stdout("") ||
                 psnap_output_is_stdout(NULL));
}
