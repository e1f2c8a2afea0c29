/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The names of a program's functions are in a section of its file
 * (PSNAP_FUNCTIONS_SECTION). It has no others if it cannot load instrumented code
 * from elsewhere: it does not ask for dlopen, and all libraries that it needs are
 * the system's. Where that is not so the runtime says at the end what it has found.
 */
#include "capture/session/cmd_roi.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/base/arena.h"
#include "formats/base/capture_abi.h"
#include "formats/base/text.h"

/* Names, terminated, which are not owned. */
struct names {
    const char **items;
    size_t count;
};

/* The first section of that name; NULL when there is none. */
static Elf_Scn *find_section(Elf *elf, const char *name, GElf_Shdr *header)
{
    Elf_Scn *section = NULL;
    const char *found = NULL;
    size_t names;

    if (elf_getshdrstrndx(elf, &names) != 0)
        return NULL;
    while ((!found || strcmp(found, name) != 0) && (section = elf_nextscn(elf, section)))
        found = gelf_getshdr(section, header) ? elf_strptr(elf, names, header->sh_name) : NULL;
    return section;
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
static bool may_load_others(Elf *elf)
{
    GElf_Shdr header;
    Elf_Data *data = elf_getdata(find_section(elf, ".dynamic", &header), NULL);
    const char *name;
    GElf_Dyn entry;
    GElf_Sym symbol;

    for (int i = 0; data && gelf_getdyn(data, i, &entry); i++) {
        name = entry.d_tag == DT_NEEDED ? elf_strptr(elf, header.sh_link, entry.d_un.d_val) : NULL;
        if (name && !is_system_library(name))
            return true;
    }
    data = elf_getdata(find_section(elf, ".dynsym", &header), NULL);
    for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
        name = elf_strptr(elf, header.sh_link, symbol.st_name);
        if (symbol.st_shndx == SHN_UNDEF && GELF_ST_BIND(symbol.st_info) != STB_WEAK && name &&
            !strncmp(name, "dl", 2) && strstr(name, "open"))
            return true;
    }
    return false;
}

/* The string at a place of the section; "" when it does not end in it. */
static const char *string_at(const Elf_Data *section, size_t at)
{
    const char *text = section->d_buf;

    return at < section->d_size && memchr(text + at, '\0', section->d_size - at) ? text + at : "";
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

static enum psnap_status check_names(const char *roi, const Elf_Data *section,
                                     struct psnap_error *error)
{
    struct names own = {malloc((section->d_size + 1) * sizeof *own.items), 0};
    enum psnap_status status = PSNAP_OK;
    uint64_t found = 0, inlined = 0; /* bit i: the i-th name of `roi` is there */
    char name[4096];

    for (size_t at = 0; own.items && at < section->d_size; at++) {
        const bool is_own = ((const char *)section->d_buf)[at++] == PSNAP_FUNCTION_OWN;
        for (const char *text; *(text = string_at(section, at)); at += strlen(text) + 1) {
            *(is_own ? &found : &inlined) |= psnap_roi_find(roi, text, strlen(text));
            if (is_own)
                own.items[own.count++] = text;
        }
    }
    for (; !status && own.items && next_line(&roi, name, sizeof name); found >>= 1, inlined >>= 1) {
        const char *nearest = psnap_text_nearest(name, own.items, own.count);
        if (found & 1)
            continue;
        if (inlined & 1)
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
    return status;
}

enum psnap_status psnap_roi_check(const char *roi, const char *path, struct psnap_error *error)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    enum psnap_status status = PSNAP_OK;
    Elf_Data *section;
    GElf_Shdr header;
    Elf *elf;

    if (fd < 0)
        return PSNAP_OK;
    elf_version(EV_CURRENT);
    elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    section = elf_getdata(find_section(elf, PSNAP_FUNCTIONS_SECTION, &header), NULL);
    if (section && section->d_buf && section->d_size && !may_load_others(elf))
        status = check_names(roi, section, error);
    elf_end(elf);
    close(fd);
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
            psnap_print(
                stderr,
                "psnap %s: function '%s' was inlined into others, where it is not recorded; "
                "keep it apart with __attribute__((noinline))\n",
                command, name);
        else if (!is_found)
            psnap_print(stderr, "psnap %s: %s '%s'%s%s%s\n", command,
                        report->is_foreign ? "no function has run that is called"
                                           : "the program has no instrumented function",
                        name, nearest ? "; did you mean '" : "", nearest ? nearest : "",
                        nearest ? "'?" : "");
    }
    if (!report->regions)
        psnap_print(stderr, "psnap %s: no region of interest was entered, the profile is empty\n",
                    command);
    return !report->regions;
}
