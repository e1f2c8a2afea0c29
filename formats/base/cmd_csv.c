/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records of comma-separated fields (RFC 4180, Shafranovich 2005). Errors stay in the file, and are
 * found when it is closed.
 */
#include "formats/base/cmd_csv.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "formats/base/text.h"

void psnap_csv_init(struct psnap_csv *csv, FILE *file)
{
    *csv = (struct psnap_csv){file, false};
}

static void begin_field(struct psnap_csv *csv)
{
    if (csv->has_field)
        fputc(',', csv->file);
    csv->has_field = true;
}

void psnap_csv_text(struct psnap_csv *csv, const char *text)
{
    const char *quote = text[strcspn(text, ",\"")] ? "\"" : "";
    double number;

    begin_field(csv);
    fputs(quote, csv->file);
    if (*text && strchr("=+-@", *text) && !psnap_text_real(text, &number))
        fputc('\'', csv->file);
    for (; *text; text = psnap_text_next(text)) {
        const size_t length = psnap_text_shown(text);
        if (*text == '"')
            fputc('"', csv->file);
        fwrite(length ? text : PSNAP_TEXT_HIDDEN, 1, length ? length : 3, csv->file);
    }
    fputs(quote, csv->file);
}

void psnap_csv_u64(struct psnap_csv *csv, uint64_t value)
{
    begin_field(csv);
    fprintf(csv->file, "%" PRIu64, value);
}

void psnap_csv_real(struct psnap_csv *csv, double value)
{
    char buffer[32];

    begin_field(csv);
    if (isfinite(value))
        fputs(psnap_text_from_real(value, buffer), csv->file);
}

void psnap_csv_none(struct psnap_csv *csv)
{
    begin_field(csv);
}

void psnap_csv_end(struct psnap_csv *csv)
{
    fputc('\n', csv->file);
    csv->has_field = false;
}
