/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libdwfl finds an ELF file's symbol table and its DWARF, also where they are
 * in separate files (build id, debug link); what is asked often is kept here in
 * sorted arrays: functions and variables by address, and the address ranges of
 * compilation units (compilers leave .debug_aranges out, and libdw 0.188 finds
 * no unit without it). Units are looked at when a line is first asked for.
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

struct unit {
    uint64_t low, high;
    Dwarf_Off offset; /* of its DIE */
};

struct table_symbol {
    struct psnap_symbol symbol;
    int rank; /* the less the better */
};

struct loaded_image {
    struct psnap_image image;
    struct loaded_image *next;
    Dwfl *dwfl;
    Dwfl_Module *module;
    Dwarf *dwarf;
    Dwarf_Addr bias; /* address in memory - address in DWARF */
    struct table_symbol *functions, *variables;
    struct unit *units;
    size_t function_count, variable_count, unit_count, unit_room;
    bool is_bad; /* no ELF file */
    bool has_units;
};

struct psnap_symbols {
    struct loaded_image *images;
};

struct psnap_symbols *psnap_symbols_new(struct psnap_error *error)
{
    struct psnap_symbols *symbols = calloc(1, sizeof *symbols);

    if (!symbols)
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    return symbols;
}

static void image_free(struct loaded_image *image)
{
    if (!image)
        return;
    if (image->dwfl)
        dwfl_end(image->dwfl);
    free((void *)(uintptr_t)image->image.path);
    free(image->functions);
    free(image->variables);
    free(image->units);
    free(image);
}

void psnap_symbols_free(struct psnap_symbols *symbols)
{
    while (symbols && symbols->images) {
        struct loaded_image *image = symbols->images;
        symbols->images = image->next;
        image_free(image);
    }
    free(symbols);
}

static int rank_of(const char *name, const GElf_Sym *sym)
{
    int binding = GELF_ST_BIND(sym->st_info), rank;

    rank = binding == STB_GLOBAL ? 0 : binding == STB_WEAK ? 100 : 200;
    return rank + (int)strspn(name, "_") + (sym->st_size ? 0 : 1000);
}

static int compare_symbols(const void *left, const void *right)
{
    const struct table_symbol *a = left, *b = right;

    if (a->symbol.low != b->symbol.low)
        return a->symbol.low < b->symbol.low ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return strcmp(a->symbol.name, b->symbol.name);
}

/* Sorts, keeps one symbol of each address, ends it where the next starts if it has no size. */
static size_t tidy(struct table_symbol *symbols, size_t n, uint64_t end)
{
    size_t kept = 0;

    if (n)
        qsort(symbols, n, sizeof *symbols, compare_symbols);
    for (size_t i = 0; i < n; i++)
        if (!kept || symbols[i].symbol.low != symbols[kept - 1].symbol.low)
            symbols[kept++] = symbols[i];
    for (size_t i = 0; i < kept; i++)
        if (symbols[i].symbol.high == symbols[i].symbol.low)
            symbols[i].symbol.high = i + 1 < kept ? symbols[i + 1].symbol.low : end;
    return kept;
}

static bool read_symbols(struct loaded_image *image)
{
    int count = dwfl_module_getsymtab(image->module);
    size_t room = count > 0 ? (size_t)count : 1;

    image->functions = malloc(room * sizeof *image->functions);
    image->variables = malloc(room * sizeof *image->variables);
    if (!image->functions || !image->variables)
        return false;
    for (int i = 1; i < count; i++) {
        struct table_symbol entry;
        GElf_Addr address;
        GElf_Word section;
        GElf_Sym sym;
        const char *name =
            dwfl_module_getsym_info(image->module, i, &sym, &address, &section, NULL, NULL);
        int type = name ? GELF_ST_TYPE(sym.st_info) : STT_NOTYPE;
        if (!name || !*name || sym.st_shndx == SHN_UNDEF || address < image->image.low ||
            address >= image->image.high || sym.st_size > image->image.high - address)
            continue;
        entry.symbol = (struct psnap_symbol){name, address, address + sym.st_size};
        entry.rank = rank_of(name, &sym);
        if (type == STT_FUNC || type == STT_GNU_IFUNC)
            image->functions[image->function_count++] = entry;
        else if (type == STT_OBJECT && sym.st_size)
            image->variables[image->variable_count++] = entry;
    }
    image->function_count = tidy(image->functions, image->function_count, image->image.high);
    image->variable_count = tidy(image->variables, image->variable_count, image->image.high);
    return true;
}

/* Hands the file to libdwfl as it lies in memory; false when it is none that libdwfl can read. */
static bool report(struct loaded_image *image)
{
    static char *no_path;
    static const Dwfl_Callbacks callbacks = {
        .find_debuginfo = dwfl_standard_find_debuginfo,
        .debuginfo_path = &no_path,
    };
    const int fd = open(image->image.path, O_RDONLY | O_CLOEXEC);
    bool is_elf; /* libdwfl would unpack others, however large they are */
    Elf *elf;

    if (fd < 0)
        return false;
    elf_version(EV_CURRENT);
    elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    is_elf = elf_kind(elf) == ELF_K_ELF;
    elf_end(elf);
    image->dwfl = is_elf ? dwfl_begin(&callbacks) : NULL;
    if (image->dwfl) /* owns fd when it has worked */
        image->module = dwfl_report_elf(image->dwfl, image->image.name, image->image.path, fd,
                                        image->image.low, false);
    if (!image->module) {
        close(fd);
        return false;
    }
    dwfl_report_end(image->dwfl, NULL, NULL);
    dwfl_module_info(image->module, NULL, NULL, &image->image.high, NULL, NULL, NULL, NULL);
    return true;
}

enum psnap_status psnap_symbols_image(struct psnap_symbols *symbols, const char *path, uint64_t low,
                                      const struct psnap_image **found, struct psnap_error *error)
{
    struct loaded_image *image;
    char *copy;

    *found = NULL;
    for (image = symbols->images; image; image = image->next)
        if (image->image.low == low && !strcmp(image->image.path, path)) {
            *found = image->is_bad ? NULL : &image->image;
            return PSNAP_OK;
        }
    image = calloc(1, sizeof *image);
    copy = image ? strdup(path) : NULL;
    if (!copy) {
        free(image);
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    }
    image->image.path = copy;
    image->image.name = psnap_text_base_name(copy);
    image->image.low = low;
    image->next = symbols->images;
    symbols->images = image;
    image->is_bad = !report(image);
    if (!image->is_bad && !read_symbols(image))
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    *found = image->is_bad ? NULL : &image->image;
    return PSNAP_OK;
}

bool psnap_symbols_function(const struct psnap_image *of, uint64_t address,
                            struct psnap_symbol *function)
{
    const struct loaded_image *image = (const struct loaded_image *)of;
    size_t low = 0, high = image->function_count;

    while (low < high) { /* the first that starts behind */
        size_t middle = low + (high - low) / 2;
        if (image->functions[middle].symbol.low <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low || image->functions[low - 1].symbol.high <= address)
        return false;
    *function = image->functions[low - 1].symbol;
    return true;
}

bool psnap_symbols_variable(const struct psnap_image *of, size_t n, struct psnap_symbol *variable)
{
    const struct loaded_image *image = (const struct loaded_image *)of;

    if (n >= image->variable_count)
        return false;
    *variable = image->variables[n].symbol;
    return true;
}

static bool add_unit(struct loaded_image *image, struct unit unit)
{
    if (!psnap_make_room(&image->units, &image->unit_room, image->unit_count + 1,
                         sizeof *image->units))
        return false;
    image->units[image->unit_count++] = unit;
    return true;
}

static int compare_units(const void *left, const void *right)
{
    const struct unit *a = left, *b = right;
    return (a->low > b->low) - (a->low < b->low);
}

/* The ranges of all units, sorted. What memory is missing for is left out. */
static void read_units(struct loaded_image *image)
{
    Dwarf_Off at = 0, next;
    size_t header;

    image->has_units = true;
    image->dwarf = dwfl_module_getdwarf(image->module, &image->bias);
    for (; image->dwarf && dwarf_nextcu(image->dwarf, at, &next, &header, NULL, NULL, NULL) == 0;
         at = next) {
        Dwarf_Addr base, low, high;
        Dwarf_Die die;
        if (!dwarf_offdie(image->dwarf, at + header, &die))
            continue;
        for (ptrdiff_t i = 0; (i = dwarf_ranges(&die, i, &base, &low, &high)) > 0;)
            if (low < high &&
                !add_unit(image, (struct unit){low + image->bias, high + image->bias, at + header}))
                break;
    }
    if (image->unit_count)
        qsort(image->units, image->unit_count, sizeof *image->units, compare_units);
}

static bool find_unit(const struct psnap_image *of, uint64_t address, Dwarf_Die *die)
{
    struct loaded_image *image = (struct loaded_image *)(uintptr_t)of;
    size_t low = 0, high;

    if (!image->has_units)
        read_units(image);
    high = image->unit_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (image->units[middle].low <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low && image->units[low - 1].high > address &&
           dwarf_offdie(image->dwarf, image->units[low - 1].offset, die);
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
    Dwarf_Die unit;
    Dwarf_Line *line;
    const char *file;
    int number;

    *place = (struct psnap_place_in_source){.file = ""};
    if (!find_unit(image, address, &unit))
        return;
    address -= ((const struct loaded_image *)image)->bias;
    line = dwarf_getsrc_die(&unit, address);
    file = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
    if (file && dwarf_lineno(line, &number) == 0 && number > 0) {
        place->file = psnap_text_base_name(file);
        place->line = (uint32_t)number;
    }
    if (with_function)
        find_scope(&unit, address, place);
}

void psnap_symbols_origin(const struct psnap_image *image, uint64_t address, const char **language,
                          const char **compiler)
{
    Dwarf_Attribute attribute;
    const char *producer;
    Dwarf_Die unit;

    *language = *compiler = "";
    if (!find_unit(image, address, &unit))
        return;
    switch (dwarf_srclang(&unit)) {
    case DW_LANG_C:
    case DW_LANG_C89:
    case DW_LANG_C99:
    case DW_LANG_C11:
        *language = "C";
        break;
    case DW_LANG_C_plus_plus:
    case DW_LANG_C_plus_plus_03:
    case DW_LANG_C_plus_plus_11:
    case DW_LANG_C_plus_plus_14:
        *language = "C++";
        break;
    case DW_LANG_Fortran77:
    case DW_LANG_Fortran90:
    case DW_LANG_Fortran95:
    case DW_LANG_Fortran03:
    case DW_LANG_Fortran08:
        *language = "Fortran";
        break;
    default:
        break;
    }
    producer = dwarf_formstring(dwarf_attr(&unit, DW_AT_producer, &attribute));
    *compiler = producer ? producer : "";
}
