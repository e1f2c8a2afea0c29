/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Build ids of ELF files that are made up here, good ones and ones that lie about their sizes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/collect/process.h"

/* As long as a page, so that what is read behind it is seen. */
struct file {
    Elf64_Ehdr header;
    Elf64_Phdr segments[2];
    char before[4096 - sizeof(Elf64_Ehdr) - 2 * sizeof(Elf64_Phdr) - 2 * sizeof(Elf64_Nhdr) - 16];
    Elf64_Nhdr other;
    char other_name[4];
    Elf64_Nhdr note;
    char name[4];
    unsigned char id[8];
};

static struct file good_file(void)
{
    struct file file = {.name = "GNU", .other_name = "ABC", .id = {0xab, 1, 2, 3, 4, 5, 6, 0xff}};

    memcpy(file.header.e_ident, ELFMAG, SELFMAG);
    file.header.e_ident[EI_CLASS] = ELFCLASS64;
    file.header.e_ident[EI_DATA] = ELFDATA2LSB;
    file.header.e_ident[EI_VERSION] = EV_CURRENT;
    file.header.e_version = EV_CURRENT;
    file.header.e_phentsize = sizeof *file.segments;
    file.header.e_phoff = offsetof(struct file, segments);
    file.header.e_phnum = 2;
    file.segments[1] = (Elf64_Phdr){.p_type = PT_NOTE,
                                    .p_offset = offsetof(struct file, other),
                                    .p_filesz = sizeof file - offsetof(struct file, other)};
    file.other = (Elf64_Nhdr){.n_namesz = 4, .n_type = NT_GNU_BUILD_ID};
    file.note = (Elf64_Nhdr){.n_namesz = 4, .n_descsz = 8, .n_type = NT_GNU_BUILD_ID};
    return file;
}

static void expect(const void *file, size_t size, const char *expected)
{
    char path[] = "/tmp/psnap-test-XXXXXX", hex[PSNAP_BUILD_ID_CHARS] = "unset";
    int fd = mkstemp(path);

    assert_true(fd >= 0 && write(fd, file, size) == (ssize_t)size);
    psnap_build_id_read(path, hex);
    assert_string_equal(hex, expected);
    close(fd);
    unlink(path);
}

static void test_good(void **state)
{
    struct file file = good_file();

    (void)state;
    assert_int_equal(sizeof file, 4096);
    expect(&file, sizeof file, "ab010203040506ff");
    file.note.n_descsz = 7;
    expect(&file, sizeof file, "ab010203040506");
}

static void test_wrong(void **state)
{
    struct file file = good_file();

    (void)state;
    expect(&file, sizeof file - 1, ""); /* the segment leads out of it */
    expect(&file, sizeof file.header - 1, "");
    expect("", 0, "");
    file.note.n_descsz = UINT32_MAX;
    expect(&file, sizeof file, "");
    file = good_file();
    file.note.n_namesz = UINT32_MAX;
    expect(&file, sizeof file, "");
    file = good_file();
    file.header.e_phoff = UINT64_MAX;
    expect(&file, sizeof file, "");
    file = good_file();
    file.header.e_ident[EI_CLASS] = ELFCLASS32;
    expect(&file, sizeof file, "");
    file = good_file();
    file.segments[1].p_offset = UINT64_MAX;
    expect(&file, sizeof file, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
