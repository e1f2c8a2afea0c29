/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the tests of YAML documents: one that is to be good, read. */
#ifndef PSNAP_TEST_YAML_SUPPORT_H
#define PSNAP_TEST_YAML_SUPPORT_H

#include "tests/unit/test.h"

#include "formats/base/yaml.h"

static inline struct psnap_yaml_doc *read_good(const char *text)
{
    struct psnap_error error;
    struct psnap_yaml_doc *doc = psnap_yaml_read_text(text, strlen(text), "t", &error);
    char message[1024];

    if (!doc)
        fail_msg("%s", psnap_error_format(&error, message, sizeof message));
    return doc;
}

#endif
