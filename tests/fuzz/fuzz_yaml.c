/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * YAML documents: whatever is read can be written, what is written can be read,
 * and written again it is the same text. Errors have a message and a place.
 */
#include <float.h>

#include "formats/base/yaml.h"
#include "tests/fuzz/fuzz.h"

static char *write_text(const struct psnap_yaml_doc *doc, size_t *size)
{
    char *text = NULL;
    FILE *file = open_memstream(&text, size);

    must(file && psnap_yaml_write(doc, file, NULL) == PSNAP_OK);
    fclose(file);
    return text;
}

static void take_values(const struct psnap_yaml_doc *doc, const struct psnap_yaml_node *node)
{
    struct psnap_error error;
    const char *text;
    uint64_t u;
    int64_t i;
    double r;

    for (; node; node = node->next) {
        must(node->src_line > 0 && node->column > 0);
        psnap_yaml_u64(doc, node, 0, UINT64_MAX, &u, &error);
        psnap_yaml_i64(doc, node, INT64_MIN, INT64_MAX, &i, &error);
        psnap_yaml_size(doc, node, 0, UINT64_MAX, &u, &error);
        psnap_yaml_text(doc, node, &text, &error);
        if (psnap_yaml_real(doc, node, -DBL_MAX, DBL_MAX, &r, &error) == PSNAP_OK)
            must(r >= -DBL_MAX && r <= DBL_MAX);
        take_values(doc, node->first); /* depth is limited by the reader */
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct psnap_error error = {0};
    struct psnap_yaml_doc *doc = psnap_yaml_read_text((const char *)data, size, "in", &error),
                          *back;
    size_t once_size, twice_size;
    char *once, *twice;

    if (!doc) {
        must(error.code < 0 && error.message[0] && error.src_line > 0 && error.column > 0);
        return 0;
    }
    take_values(doc, psnap_yaml_root(doc));
    once = write_text(doc, &once_size);
    psnap_yaml_doc_free(doc);
    back = psnap_yaml_read_text(once, once_size, "once", &error);
    must(back);
    twice = write_text(back, &twice_size);
    psnap_yaml_doc_free(back);
    /* quotes that the emitter adds the first time make it differ; the second time they are known */
    back = psnap_yaml_read_text(twice, twice_size, "twice", &error);
    must(back);
    free(once);
    once = write_text(back, &once_size);
    psnap_yaml_doc_free(back);
    must(once_size == twice_size && !memcmp(once, twice, once_size));
    free(once);
    free(twice);
    return 0;
}
