/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libdwfl finds an ELF file's symbol table and its DWARF, also where they are
 * in separate files (build id, debug link), and the symbol for an address. Of
 * several variables at one address the one is kept that is global before weak
 * before local.
 */
#include "capture/valgrind/symbols.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/base/text.h"

enum { OBJECTS_MAX = 1 << 16 };

void psnap_symbols_free(struct psnap_image *images)
{
    while (images) {
        struct psnap_image *image = images;
        images = image->next;
        dwfl_end(image->dwfl);
        free(image->path);
        free(image);
    }
}

/* Hands the file to libdwfl as it lies in memory. */
static void report(struct psnap_image *image)
{
    static char *no_path;
    static const Dwfl_Callbacks callbacks = {
        .find_debuginfo = dwfl_standard_find_debuginfo,
        .debuginfo_path = &no_path,
    };
    const int fd = open(image->path, O_RDONLY | O_CLOEXEC);
    bool is_elf; /* libdwfl would unpack others, however large they are */
    Elf *elf;

    if (fd < 0)
        return;
    elf_version(EV_CURRENT);
    elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    is_elf = elf_kind(elf) == ELF_K_ELF;
    elf_end(elf);
    image->dwfl = is_elf ? dwfl_begin(&callbacks) : NULL;
    if (image->dwfl) /* owns fd when it has worked */
        image->module =
            dwfl_report_elf(image->dwfl, image->name, image->path, fd, image->low, false);
    if (!image->module) {
        close(fd);
        return;
    }
    dwfl_report_end(image->dwfl, NULL, NULL);
    dwfl_module_info(image->module, NULL, NULL, &image->high, NULL, NULL, NULL, NULL);
    dwfl_module_getdwarf(image->module, &image->bias);
}

enum psnap_status psnap_symbols_image(struct psnap_image **images, const char *path, uint64_t low,
                                      struct psnap_image **found, struct psnap_error *error)
{
    struct psnap_image *image = *images;

    while (image && (image->low != low || strcmp(image->path, path) != 0))
        image = image->next;
    if (!image) {
        image = calloc(1, sizeof *image);
        if (!image || !(image->path = strdup(path))) {
            free(image);
            return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        }
        image->name = psnap_text_base_name(image->path);
        image->low = low;
        image->next = *images;
        *images = image;
        report(image);
    }
    *found = image->module ? image : NULL;
    return PSNAP_OK;
}

const char *psnap_symbols_function(const struct psnap_image *image, uint64_t address, uint64_t *low,
                                   uint64_t *high)
{
    GElf_Off offset;
    GElf_Sym sym;
    const char *name =
        dwfl_module_addrinfo(image->module, address, &offset, &sym, NULL, NULL, NULL);
    const int type = name ? GELF_ST_TYPE(sym.st_info) : STT_NOTYPE;

    if (!name || !*name || (type != STT_FUNC && type != STT_GNU_IFUNC))
        return NULL;
    *low = address - offset;
    *high = *low + sym.st_size;
    return name;
}

/* Adds a symbol of the table if it is a variable with this binding; false when out of memory. */
static bool add_variable(const struct psnap_image *image, int index, int binding, uint64_t delta,
                         struct psnap_program *program)
{
    GElf_Addr address;
    GElf_Sym sym;
    const char *name =
        dwfl_module_getsym_info(image->module, index, &sym, &address, NULL, NULL, NULL);
    struct psnap_object object = {.kind = PSNAP_OBJECT_GLOBAL};

    if (!name || !*name || sym.st_shndx == SHN_UNDEF || GELF_ST_TYPE(sym.st_info) != STT_OBJECT ||
        GELF_ST_BIND(sym.st_info) != binding || !sym.st_size || address < image->low ||
        address >= image->high || sym.st_size > image->high - address)
        return true;
    object.address = address + delta;
    object.size_bytes = sym.st_size;
    object.name = psnap_program_string(program, name);
    return object.name && psnap_program_add_object(program, &object) != PSNAP_NONE;
}

bool psnap_symbols_add_variables(const struct psnap_image *image, uint64_t delta,
                                 struct psnap_program *program)
{
    static const int bindings[] = {STB_LOCAL, STB_WEAK,
                                   STB_GLOBAL}; /* a later object hides others */
    const int count = dwfl_module_getsymtab(image->module);

    for (size_t b = 0; b < sizeof bindings / sizeof *bindings; b++)
        for (int i = 1; i < count && program->object_count < OBJECTS_MAX; i++)
            if (!add_variable(image, i, bindings[b], delta, program))
                return false;
    return true;
}

/* The unit that holds an address of DWARF's, or NULL. Units are asked one after the other:
 * compilers leave .debug_aranges out, and libdw 0.188 finds none without it. */
static Dwarf_Die *find_unit(struct psnap_image *image, uint64_t address)
{
    Dwarf_Die *unit = image->unit;
    Dwarf_Addr bias;

    if (unit && dwarf_haspc(unit, address) > 0)
        return unit;
    unit = NULL;
    while ((unit = dwfl_module_nextcu(image->module, unit, &bias)))
        if (dwarf_haspc(unit, address) > 0)
            break;
    if (unit)
        image->unit = unit;
    return unit;
}

/* Template arguments are not part of what a person calls a function ("operator<" is). */
static void drop_arguments(char *title)
{
    char *to = title;
    int depth = 0;

    for (const char *at = title; *at; at++) {
        if (!depth && !strncmp(at, "operator", 8)) {
            size_t length = strcspn(at, "(");
            memmove(to, at, length);
            to += length;
            break;
        }
        depth += *at == '<';
        if (!depth)
            *to++ = *at;
        depth -= *at == '>' && depth;
    }
    *to = '\0';
}

/* The names around a declaration, outermost first, and its own: "ns::type::f". */
static void qualify(Dwarf_Die *function, char *title, size_t size)
{
    static const unsigned references[] = {DW_AT_abstract_origin, DW_AT_specification};
    const char *name = dwarf_diename(function);
    Dwarf_Die declared = *function, *scopes = NULL;
    size_t length = 0;
    int count;

    for (size_t i = 0; i < 2; i++) {
        Dwarf_Attribute attribute;
        Dwarf_Die to;
        if (dwarf_formref_die(dwarf_attr(&declared, references[i], &attribute), &to))
            declared = to;
    }
    count = name ? dwarf_getscopes_die(&declared, &scopes) : 0;
    title[0] = '\0';
    for (int i = count - 1; i > 0; i--) {
        int tag = dwarf_tag(&scopes[i]);
        const char *around = dwarf_diename(&scopes[i]);
        if (around &&
            (tag == DW_TAG_namespace || tag == DW_TAG_class_type || tag == DW_TAG_structure_type ||
             tag == DW_TAG_union_type) &&
            length < size)
            length += (size_t)snprintf(title + length, size - length, "%s::", around);
    }
    if (name && length < size)
        snprintf(title + length, size - length, "%s", name);
    drop_arguments(title);
    free(scopes);
}

/* The innermost function around `address`, which is one of DWARF's, and how deep it is inlined. */
static void find_scope(Dwarf_Die *unit, Dwarf_Addr address, struct psnap_place_in_source *place)
{
    Dwarf_Die *innermost = NULL, *scopes = NULL;
    int count = dwarf_getscopes(unit, address, &innermost);

    /* dwarf_getscopes goes on with where an inlined function was written */
    count = count > 0 ? dwarf_getscopes_die(&innermost[0], &scopes) : 0;
    for (int i = 0; i < count; i++) {
        int tag = dwarf_tag(&scopes[i]);
        if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram)
            continue;
        if (!place->function[0])
            qualify(&scopes[i], place->function, sizeof place->function);
        place->inlined += tag == DW_TAG_inlined_subroutine;
    }
    free(innermost);
    free(scopes);
}

void psnap_symbols_place(struct psnap_image *image, uint64_t address, bool with_function,
                         struct psnap_place_in_source *place)
{
    Dwarf_Die *unit = find_unit(image, address -= image->bias);
    Dwarf_Line *line;
    const char *file;
    int number;

    *place = (struct psnap_place_in_source){.file = ""};
    if (!unit)
        return;
    line = dwarf_getsrc_die(unit, address);
    file = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
    if (file && dwarf_lineno(line, &number) == 0 && number > 0) {
        place->file = psnap_text_base_name(file);
        place->line = (uint32_t)number;
    }
    if (with_function)
        find_scope(unit, address, place);
}

void psnap_symbols_origin(struct psnap_image *image, uint64_t address, const char **language,
                          const char **compiler)
{
    static const struct {
        int code;
        const char *name;
    } languages[] = {
        {DW_LANG_C, "C"},
        {DW_LANG_C89, "C"},
        {DW_LANG_C99, "C"},
        {DW_LANG_C11, "C"},
        {DW_LANG_C_plus_plus, "C++"},
        {DW_LANG_C_plus_plus_03, "C++"},
        {DW_LANG_C_plus_plus_11, "C++"},
        {DW_LANG_C_plus_plus_14, "C++"},
        {DW_LANG_Fortran77, "Fortran"},
        {DW_LANG_Fortran90, "Fortran"},
        {DW_LANG_Fortran95, "Fortran"},
        {DW_LANG_Fortran03, "Fortran"},
        {DW_LANG_Fortran08, "Fortran"},
    };
    Dwarf_Die *unit = find_unit(image, address - image->bias);
    Dwarf_Attribute attribute;
    const char *producer;

    *language = *compiler = "";
    if (!unit)
        return;
    for (size_t i = 0; i < sizeof languages / sizeof *languages; i++)
        if (languages[i].code == dwarf_srclang(unit))
            *language = languages[i].name;
    producer = dwarf_formstring(dwarf_attr(unit, DW_AT_producer, &attribute));
    *compiler = producer ? producer : "";
}
