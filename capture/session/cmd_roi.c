/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The names of a program's functions are in a section of its file
 * (PSNAP_FUNCTIONS_SECTION). It has no others if it cannot load instrumented code
 * from elsewhere: it does not ask for dlopen, and all libraries that it needs are
 * the system's. Where that is not so the runtime says at the end what it has found.
 */
#include "capture/session/cmd_roi.h"

#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/base/arena.h"
#include "formats/base/capture_abi.h"
#include "formats/base/text.h"

/* A file's bytes; those of a section are a part of it. */
struct bytes {
    const unsigned char *at;
    size_t size;
};

/* Names, terminated, which are not owned. */
struct names {
    const char **items;
    size_t count;
};

static struct bytes open_file(const char *path)
{
    struct bytes file = {NULL, 0};
    struct stat about;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *map = MAP_FAILED;

    if (fd < 0)
        return file;
    if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0)
        map = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (map != MAP_FAILED)
        file = (struct bytes){map, (size_t)about.st_size};
    return file;
}

static bool is_elf(struct bytes file)
{
    return file.size >= sizeof(Elf64_Ehdr) && !memcmp(file.at, ELFMAG, SELFMAG) &&
           file.at[EI_CLASS] == ELFCLASS64 && file.at[EI_DATA] == ELFDATA2LSB;
}

/* The index-th section header; false when there is none. */
static bool read_header(struct bytes file, unsigned index, Elf64_Shdr *header)
{
    Elf64_Ehdr elf;

    memcpy(&elf, file.at, sizeof elf);
    if (index >= elf.e_shnum || elf.e_shentsize != sizeof *header || elf.e_shoff > file.size ||
        (file.size - elf.e_shoff) / sizeof *header <= index)
        return false;
    memcpy(header, file.at + elf.e_shoff + index * sizeof *header, sizeof *header);
    return true;
}

static struct bytes contents_of(struct bytes file, const Elf64_Shdr *header)
{
    if (header->sh_type == SHT_NOBITS || header->sh_offset > file.size ||
        header->sh_size > file.size - header->sh_offset)
        return (struct bytes){NULL, 0};
    return (struct bytes){file.at + header->sh_offset, header->sh_size};
}

/* The string at an offset of a table; "" when it does not end in it. */
static const char *string_at(struct bytes table, uint64_t offset)
{
    if (offset >= table.size || !memchr(table.at + offset, '\0', table.size - offset))
        return "";
    return (const char *)table.at + offset;
}

/* The section of that name, and the string table that it refers to; empty when there is none. */
static struct bytes find_section(struct bytes file, const char *name, struct bytes *strings)
{
    struct bytes names = {NULL, 0};
    Elf64_Shdr header, linked;
    Elf64_Ehdr elf;

    memcpy(&elf, file.at, sizeof elf);
    *strings = (struct bytes){NULL, 0};
    if (read_header(file, elf.e_shstrndx, &header))
        names = contents_of(file, &header);
    for (unsigned i = 0; read_header(file, i, &header); i++) {
        if (strcmp(string_at(names, header.sh_name), name) != 0)
            continue;
        if (read_header(file, header.sh_link, &linked))
            *strings = contents_of(file, &linked);
        return contents_of(file, &header);
    }
    return (struct bytes){NULL, 0};
}

static bool is_system_library(const char *name)
{
    static const char *const folders[] = {"/lib/x86_64-linux-gnu",
                                          "/usr/lib/x86_64-linux-gnu",
                                          "/lib/aarch64-linux-gnu",
                                          "/usr/lib/aarch64-linux-gnu",
                                          "/lib64",
                                          "/usr/lib64"};
    char path[4096];

    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(path, sizeof path, "%s/%s", folders[i], name);
        if (access(path, R_OK) == 0)
            return true;
    }
    return false;
}

/* Whether code from elsewhere may be instrumented too. */
static bool may_load_others(struct bytes file)
{
    struct bytes strings, dynamic = find_section(file, ".dynamic", &strings), symbols;
    bool may = false;

    for (size_t at = 0; at + sizeof(Elf64_Dyn) <= dynamic.size && !may; at += sizeof(Elf64_Dyn)) {
        Elf64_Dyn entry;
        memcpy(&entry, dynamic.at + at, sizeof entry);
        may = entry.d_tag == DT_NEEDED && !is_system_library(string_at(strings, entry.d_un.d_val));
    }
    symbols = find_section(file, ".dynsym", &strings);
    for (size_t at = 0; at + sizeof(Elf64_Sym) <= symbols.size && !may; at += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol;
        memcpy(&symbol, symbols.at + at, sizeof symbol);
        may = symbol.st_shndx == SHN_UNDEF && ELF64_ST_BIND(symbol.st_info) != STB_WEAK &&
              !strncmp(string_at(strings, symbol.st_name), "dl", 2) &&
              strstr(string_at(strings, symbol.st_name), "open");
    }
    return may;
}

/* All names with this letter; items NULL when out of memory. */
static struct names names_of(struct bytes section, char letter)
{
    struct names names = {malloc((section.size + 1) * sizeof *names.items), 0};
    size_t at = 0;

    while (names.items && at < section.size) {
        const bool is_wanted = section.at[at++] == (unsigned char)letter;
        for (; *string_at(section, at); at += strlen(string_at(section, at)) + 1)
            if (is_wanted)
                names.items[names.count++] = string_at(section, at);
        at++;
    }
    return names;
}

static bool is_among(const struct names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (!strcmp(names->items[i], name))
            return true;
    return false;
}

/* The next line of a list, in `line`; false at its end. */
static bool next_line(const char **list, char *line, size_t size)
{
    const size_t length = strcspn(*list, "\n");

    if (!**list)
        return false;
    snprintf(line, size, "%.*s", (int)length, *list);
    *list += length + ((*list)[length] == '\n');
    return true;
}

static enum psnap_status check_names(const char *roi, struct bytes section,
                                     struct psnap_error *error)
{
    struct names own = names_of(section, PSNAP_FUNCTION_OWN);
    struct names inlined = names_of(section, PSNAP_FUNCTION_INLINED);
    enum psnap_status status = PSNAP_OK;
    char name[4096];

    while (!status && own.items && inlined.items && next_line(&roi, name, sizeof name)) {
        const char *nearest = psnap_text_nearest(name, own.items, own.count);
        if (is_among(&own, name))
            continue;
        if (is_among(&inlined, name))
            status = psnap_error_set(error, PSNAP_ERROR_USAGE,
                                     "function '%s' was inlined wherever it is used, so that it is "
                                     "never entered; keep it apart, with "
                                     "__attribute__((noinline)) or -fno-inline-functions, or name "
                                     "its caller",
                                     name);
        else
            status = psnap_error_set(error, PSNAP_ERROR_USAGE,
                                     "the program has no instrumented function '%s'%s%s%s", name,
                                     nearest ? "; did you mean '" : "", nearest ? nearest : "",
                                     nearest ? "'?" : "");
    }
    free(own.items);
    free(inlined.items);
    return status;
}

enum psnap_status psnap_roi_check(const char *roi, const char *path, struct psnap_error *error)
{
    struct bytes file = open_file(path), section = {NULL, 0}, strings;
    enum psnap_status status = PSNAP_OK;

    if (is_elf(file))
        section = find_section(file, PSNAP_FUNCTIONS_SECTION, &strings);
    if (section.size && !may_load_others(file))
        status = check_names(roi, section, error);
    if (file.at)
        munmap((void *)(uintptr_t)file.at, file.size);
    return status;
}

char *psnap_roi_join(const struct psnap_text_list *names, struct psnap_error *error)
{
    size_t length = 1;
    char *joined;

    for (size_t i = 0; i < names->count; i++) {
        if (!*names->items[i] || strchr(names->items[i], '\n')) {
            psnap_error_set(error, PSNAP_ERROR_USAGE, "--roi: '%s' is no function's name",
                            names->items[i]);
            return NULL;
        }
        length += strlen(names->items[i]) + 1;
    }
    if (names->count > PSNAP_ROI_NAMES_MAX) {
        psnap_error_set(error, PSNAP_ERROR_USAGE, "--roi takes at most %d functions",
                        PSNAP_ROI_NAMES_MAX);
        return NULL;
    }
    joined = calloc(1, length);
    if (!joined)
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    for (size_t i = 0; joined && i < names->count; i++) {
        strcat(joined, i ? "\n" : "");
        strcat(joined, names->items[i]);
    }
    return joined;
}

bool psnap_roi_note(const char *roi, struct psnap_program *program)
{
    const char **names =
        psnap_arena_alloc(program->arena, (PSNAP_ROI_NAMES_MAX + 1) * sizeof *names);
    char name[4096];
    size_t count = 0;

    if (!names)
        return false;
    if (!roi)
        names[count++] = "PSNAP_ROI_BEGIN";
    while (roi && count < PSNAP_ROI_NAMES_MAX && next_line(&roi, name, sizeof name))
        if (!(names[count++] = psnap_program_string(program, name)))
            return false;
    names[count] = NULL;
    program->sampling.regions = names;
    return true;
}

/* The function of the program whose name is nearest, or NULL. */
static const char *nearest_function(const char *name, const struct psnap_program *program)
{
    struct names names = {malloc((program->loop_count + 1) * sizeof *names.items), 0};
    const char *nearest;

    if (!names.items)
        return NULL;
    for (uint32_t i = 0; i < program->loop_count; i++)
        names.items[names.count++] = program->loops[i].function;
    nearest = psnap_text_nearest(name, names.items, names.count);
    free(names.items);
    return nearest;
}

bool psnap_roi_complain(const char *command, const char *roi, const struct psnap_roi_report *report,
                        const struct psnap_program *program)
{
    char name[4096];

    if (!report->has_regions)
        return false;
    for (unsigned i = 0; roi && next_line(&roi, name, sizeof name); i++) {
        const bool is_found = report->found >> i & 1, is_inlined = report->inlined >> i & 1;
        const char *nearest = is_found ? NULL : nearest_function(name, program);
        if (is_inlined)
            fprintf(stderr,
                    "psnap %s: function '%s' was inlined into others, where it is not recorded; "
                    "keep it apart with __attribute__((noinline))\n",
                    command, name);
        else if (!is_found)
            fprintf(stderr, "psnap %s: %s '%s'%s%s%s\n", command,
                    report->is_foreign ? "no function has run that is called"
                                       : "the program has no instrumented function",
                    name, nearest ? "; did you mean '" : "", nearest ? nearest : "",
                    nearest ? "'?" : "");
    }
    if (!report->regions)
        fprintf(stderr, "psnap %s: no region of interest was entered, the profile is empty\n",
                command);
    return !report->regions;
}
