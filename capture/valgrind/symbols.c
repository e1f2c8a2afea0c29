/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libdwfl finds an ELF file's symbol table and its DWARF, also where they are
 * in separate files (build id, debug link). Symbols are kept here, sorted.
 *
 * Of several symbols at one address the one is kept that is global before weak
 * before local, then the one with fewer leading underscores, then the first by
 * name: the same whatever the order in the table. A function symbol without a
 * size, as assembly has them, reaches to the next one.
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

#include "formats/base/room.h"
#include "formats/base/text.h"

enum { OBJECTS_MAX = 1 << 16 };

/* A function or a variable: [low, high), absolute. */
struct psnap_symbol {
    uint64_t low, high;
    const char *name; /* as in the symbol table */
    int rank;         /* the less the better */
    bool is_variable;
    Dwarf_Die *unit; /* that holds it; NULL: not known */
};

void psnap_symbols_free(struct psnap_image *images)
{
    while (images) {
        struct psnap_image *image = images;
        images = image->next;
        dwfl_end(image->dwfl);
        free(image->path);
        free(image->symbols);
        free(image);
    }
}

static int rank_of(const char *name, const GElf_Sym *sym)
{
    const int binding = GELF_ST_BIND(sym->st_info);
    const int rank = binding == STB_GLOBAL ? 0 : binding == STB_WEAK ? 100 : 200;

    return rank + (int)strspn(name, "_") + (sym->st_size ? 0 : 1000);
}

static int compare_symbols(const void *left, const void *right)
{
    const struct psnap_symbol *a = left, *b = right;

    if (a->low != b->low)
        return a->low < b->low ? -1 : 1;
    return a->rank != b->rank ? a->rank - b->rank : strcmp(a->name, b->name);
}

/* Sorts, keeps one symbol of each address, ends it where the next starts if it has no size. */
static void tidy(struct psnap_image *image, size_t n)
{
    struct psnap_symbol *symbols = image->symbols;
    size_t kept = 0;

    if (n)
        qsort(symbols, n, sizeof *symbols, compare_symbols);
    for (size_t i = 0; i < n; i++)
        if (!kept || symbols[i].low != symbols[kept - 1].low)
            symbols[kept++] = symbols[i];
    for (size_t i = 0; i < kept; i++)
        if (symbols[i].high == symbols[i].low)
            symbols[i].high = i + 1 < kept ? symbols[i + 1].low : image->high;
    image->symbol_count = kept;
}

static bool read_symbols(struct psnap_image *image)
{
    const int count = dwfl_module_getsymtab(image->module);
    size_t n = 0;

    image->symbols = calloc(count > 0 ? (size_t)count : 1, sizeof *image->symbols);
    for (int i = 1; image->symbols && i < count; i++) {
        GElf_Addr low;
        GElf_Sym sym;
        const char *name = dwfl_module_getsym_info(image->module, i, &sym, &low, NULL, NULL, NULL);
        const int type = name ? GELF_ST_TYPE(sym.st_info) : STT_NOTYPE;
        const bool is_variable = type == STT_OBJECT;
        if (!name || !*name || sym.st_shndx == SHN_UNDEF || low < image->low ||
            low >= image->high || sym.st_size > image->high - low ||
            (type != STT_FUNC && type != STT_GNU_IFUNC && !(is_variable && sym.st_size)))
            continue;
        image->symbols[n++] = (struct psnap_symbol){
            low, low + sym.st_size, name, rank_of(name, &sym), is_variable, NULL};
    }
    if (image->symbols)
        tidy(image, n);
    return image->symbols;
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
        if (image->module && !read_symbols(image))
            return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    }
    *found = image->module ? image : NULL;
    return PSNAP_OK;
}

/* The symbol whose range an address is in; NULL: none. */
static struct psnap_symbol *symbol_at(const struct psnap_image *image, uint64_t address)
{
    const size_t below =
        psnap_place(image->symbols, image->symbol_count, sizeof *image->symbols, address);

    return below && image->symbols[below - 1].high > address ? &image->symbols[below - 1] : NULL;
}

const char *psnap_symbols_function(const struct psnap_image *image, uint64_t address, uint64_t *low,
                                   uint64_t *high)
{
    const struct psnap_symbol *symbol = symbol_at(image, address);

    if (!symbol || symbol->is_variable)
        return NULL;
    *low = symbol->low;
    *high = symbol->high;
    return symbol->name;
}

bool psnap_symbols_add_variables(const struct psnap_image *image, uint64_t delta,
                                 struct psnap_program *program)
{
    for (size_t i = 0; i < image->symbol_count && program->object_count < OBJECTS_MAX; i++) {
        const struct psnap_symbol *symbol = &image->symbols[i];
        const struct psnap_object object = {
            .address = symbol->low + delta,
            .size_bytes = symbol->high - symbol->low,
            .name = symbol->is_variable ? psnap_program_string(program, symbol->name) : NULL,
            .kind = PSNAP_OBJECT_GLOBAL,
        };
        if (symbol->is_variable &&
            (!object.name || psnap_program_add_object(program, &object) == PSNAP_NONE))
            return false;
    }
    return true;
}

/* The unit that holds an address, or NULL. Units are asked one after the other, once for each
 * symbol: compilers leave .debug_aranges out, and libdw 0.188 finds none without it. */
static Dwarf_Die *find_unit(const struct psnap_image *image, uint64_t address)
{
    struct psnap_symbol *symbol = symbol_at(image, address);
    Dwarf_Die *unit = symbol ? symbol->unit : NULL;
    Dwarf_Addr bias;

    if (unit && dwarf_haspc(unit, address - image->bias) > 0)
        return unit;
    unit = NULL;
    while ((unit = dwfl_module_nextcu(image->module, unit, &bias)))
        if (dwarf_haspc(unit, address - image->bias) > 0)
            break;
    if (symbol)
        symbol->unit = unit;
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

void psnap_symbols_place(const struct psnap_image *image, uint64_t address, bool with_function,
                         struct psnap_place_in_source *place)
{
    Dwarf_Die *unit = find_unit(image, address);
    Dwarf_Line *line;
    const char *file;
    int number;

    *place = (struct psnap_place_in_source){.file = ""};
    if (!unit)
        return;
    address -= image->bias;
    line = dwarf_getsrc_die(unit, address);
    file = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
    if (file && dwarf_lineno(line, &number) == 0 && number > 0) {
        place->file = psnap_text_base_name(file);
        place->line = (uint32_t)number;
    }
    if (with_function)
        find_scope(unit, address, place);
}

void psnap_symbols_origin(const struct psnap_image *image, uint64_t address, const char **language,
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
    Dwarf_Die *unit = find_unit(image, address);
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
