/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the tests of mixes as text (profile/mixes/mix_yaml.h): texts of them, read back, and
 * texts that are refused.
 */
#ifndef PSNAP_TEST_MIX_TEXT_SUPPORT_H
#define PSNAP_TEST_MIX_TEXT_SUPPORT_H

#include "tests/unit/test_mix_support.h"
#include "tests/unit/test_text_support.h"

typedef void state_writer(void *context, struct psnap_yaml_doc *doc, struct psnap_yaml_node *map,
                          uint32_t id);
typedef enum psnap_status state_reader(void *context, const struct psnap_yaml_node *map,
                                       uint32_t id, struct psnap_error *error);

/* The mix as text, which the caller frees. */
static inline char *mix_text(const struct psnap_mix *mix, state_writer *write, void *context)
{
    struct psnap_yaml_doc *doc = psnap_yaml_doc_new("t");
    char *text;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    assert_non_null(doc);
    assert_non_null(file);
    mix_write(mix, doc, psnap_yaml_add_map(doc, NULL, NULL, PSNAP_YAML_BLOCK), write, context);
    assert_int_equal(psnap_yaml_write(doc, file, NULL), PSNAP_OK);
    assert_int_equal(fclose(file), 0);
    psnap_yaml_doc_free(doc);
    return text;
}

/* The mix of a text, or NULL and the error. */
static inline struct psnap_mix *mix_of(const char *text, state_reader *read, void *context,
                                       struct psnap_error *error)
{
    struct psnap_yaml_doc *doc = psnap_yaml_read_text(text, strlen(text), "t", error);
    struct psnap_mix *mix = NULL;

    assert_non_null(doc);
    if (mix_read(doc, psnap_yaml_root(doc), read, context, &mix, error))
        assert_null(mix);
    psnap_yaml_doc_free(doc);
    return mix;
}

/* A text with `from` replaced is refused with this message, for what stands on this line. */
struct mix_mistake {
    const char *from, *to, *message;
    uint32_t src_line;
};

static inline void
check_mistakes(const char *text, const struct mix_mistake *mistakes, size_t count,
               struct psnap_mix *(*read)(const char *text, struct psnap_error *error))
{
    for (size_t i = 0; i < count; i++) {
        char *wrong = replaced(text, mistakes[i].from, mistakes[i].to);
        struct psnap_error error = {0};
        struct psnap_mix *mix = read(wrong, &error);
        if (mix || !strstr(error.message, mistakes[i].message) ||
            error.src_line != mistakes[i].src_line)
            fail_msg("'%s': got %u: %s", mistakes[i].to, (unsigned)error.src_line, error.message);
        free(wrong);
    }
}

#endif
