/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a fuzz target on files, for builds without libFuzzer: every argument is
 * a file or a directory of files. Finding none is a failure, so that a lost
 * corpus is noticed.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct stat status;
    uint8_t *data;
    size_t size;

    if (!file || fstat(fileno(file), &status)) {
        perror(path);
        exit(1);
    }
    size = (size_t)status.st_size;
    data = malloc(size ? size : 1); /* exactly as large, for the sanitizer to watch the end */
    if (!data || fread(data, 1, size, file) != size) {
        perror(path);
        exit(1);
    }
    fclose(file);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 1;
}

static int run_path(const char *path)
{
    DIR *directory = opendir(path);
    struct dirent *entry;
    int count = 0;

    if (!directory)
        return run_file(path);
    while ((entry = readdir(directory))) {
        char name[4096];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        count += run_file(name);
    }
    closedir(directory);
    return count;
}

int main(int argc, char **argv)
{
    int count = 0;

    for (int i = 1; i < argc; i++)
        count += run_path(argv[i]);
    printf("%d inputs\n", count);
    return count ? 0 : 1;
}
