/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The index page (cmd_report_index.h). Its own policy lets one script run, by the hash of its text,
 * which a test recomputes; so no text of a profile could, even if it were not escaped. Every text
 * of a profile goes through psnap_html_text(). A cell has in data-v what it is sorted by, where
 * that is not its text.
 */
#include "predict/report/cmd_report_index.h"

#include <inttypes.h>
#include <math.h>

#include "formats/base/html.h"

enum { NAME_CHARACTERS = 40, COMMAND_CHARACTERS = 48, DATE_CHARACTERS = 10, TAG_BYTES = 256 };

#define SCRIPT_HASH "sha256-kmf3FLAHgFnS6zJTahKVVxrr/oSDvSc04xgLsS41hEs="

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"generator\" content=\"psnap site " PSNAP_VERSION "\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
    "'unsafe-inline'; img-src data:; script-src '" SCRIPT_HASH "'; base-uri 'none'\">\n"
    "<link rel=\"icon\" href=\"data:,\">\n<title>";

/* Colours as those of reports (predict/report/cmd_report_style.c). */
#define LIGHT                                                                                      \
    "color-scheme:light;--paper:#fff;--card:#f5f7fa;--ink:#1b2430;--soft:#4d5b6b;--line:#d5dce4;"  \
    "--link:#0a58a8;--bad:#b42318;--focus:#c2410c"
#define DARK                                                                                       \
    "color-scheme:dark;--paper:#12171e;--card:#1b222c;--ink:#e6ebf1;--soft:#a9b5c2;"               \
    "--line:#313c49;--link:#7cb8ff;--bad:#ff8f85;--focus:#ff9d5c"

static const char *const style[] = {
    ":root{" LIGHT "}\n@media (prefers-color-scheme:dark){:root{" DARK "}}\n",
    "*{box-sizing:border-box}\n"
    "body{margin:0 auto;max-width:120rem;padding:1.5rem 1.25rem 4rem;background:var(--paper);"
    "color:var(--ink);font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',"
    "sans-serif}\n"
    "h1{font-size:2rem;line-height:1.15;margin:.1rem 0 .4rem;overflow-wrap:anywhere}\n"
    "p{max-width:60rem;margin:.5rem 0}a{color:var(--link)}\n"
    ":focus-visible{outline:3px solid var(--focus);outline-offset:2px}\n"
    ".skip{position:absolute;left:-999em}.skip:focus{left:1rem;top:1rem;"
    "background:var(--paper);padding:.5rem;z-index:2}\n",
    "#find{display:flex;flex-wrap:wrap;align-items:center;gap:.4rem .8rem;margin:1rem 0 .4rem}\n"
    "#find[hidden],tr[hidden],#find button[hidden]{display:none}\n"
    "@media (scripting:enabled){tbody.long tr:nth-child(n+501){display:none}}\n"
    "#find input{font:inherit;min-width:16rem;padding:.3rem .6rem;color:var(--ink);"
    "background:var(--paper);border:1px solid var(--soft);border-radius:.4rem}\n"
    "#find button{font:inherit;color:var(--link);background:none;border:1px solid var(--line);"
    "border-radius:.4rem;padding:.3rem .6rem;cursor:pointer}\n"
    "#count,.soft{color:var(--soft)}.soft{font-size:.88rem}\n"
    ".scroll{overflow-x:auto}\n"
    "table{border-collapse:collapse;font-size:.87rem;width:100%}\n"
    "th,td{padding:.34rem .5rem;text-align:left;vertical-align:baseline;"
    "border-bottom:1px solid var(--line)}\n",
    "thead th{color:var(--soft);font-weight:600;font-size:.82rem;vertical-align:bottom;"
    "border-bottom-width:2px}\n"
    "thead button{all:unset;cursor:pointer;color:inherit;padding:.15rem 0;position:relative}\n"
    "thead button::after{position:absolute;right:-.8em}\n"
    ".u{padding-bottom:.49rem}td .curve{position:relative;top:.25rem}\n"
    "thead button:hover{color:var(--link);text-decoration:underline}\n"
    "thead button:focus-visible{outline:3px solid var(--focus);outline-offset:2px}\n"
    "[aria-sort] button::after{content:'\\2195';opacity:0}\n"
    "[aria-sort] button:hover::after{opacity:1}\n"
    "[aria-sort=ascending] button::after{content:'\\2191';opacity:1}\n"
    "[aria-sort=descending] button::after{content:'\\2193';opacity:1}\n"
    "tbody th{font-weight:600;overflow-wrap:anywhere;min-width:7rem}\n"
    "tbody tr:hover{background:var(--card)}\n"
    ".n{text-align:right;font-variant-numeric:tabular-nums}td.n,.d,.l{white-space:nowrap}\n"
    ".m{font-family:ui-monospace,'DejaVu Sans Mono',monospace;font-size:.84em;"
    "overflow-wrap:anywhere}td.m:not(:last-child){min-width:8rem}\n"
    ".bad{color:var(--bad)}small{display:block;font-weight:400;font-size:."
    "8rem}\n"
    ".curve{display:block;width:5rem;height:1.3rem;overflow:visible;"
    "border-bottom:1px solid var(--line)}"
    ".curve path{fill:none;stroke:var(--link);stroke-width:1.6;vector-effect:non-scaling-stroke}\n"
    "footer{margin-top:2rem;padding-top:1rem;border-top:1px solid var(--line);"
    "font-size:.85rem;color:var(--soft)}\n",
    "@media print{:root{" LIGHT "}body{font-size:9pt;padding:0;max-width:none}#find,.skip{display:"
    "none}.scroll{overflow:visible}table{font-size:7.5pt}th,td{padding:.2rem .3rem}tr{break-inside:"
    "avoid}tbody th,td.m:not(:last-child){min-width:0}.curve{width:3rem}a{color:inherit;"
    "text-decoration:none}tbody tr:hover{background:none}*{print-color-adjust:exact;"
    "-webkit-print-color-adjust:exact}}\n",
};

/* Beyond the first rows the others are shown when they are asked for: a table of ten thousand takes
 * seconds to be laid out. */
static const char script[] =
    "const body = document.querySelector('tbody'), rows = [...body.rows];\n"
    "const find = document.getElementById('find'), q = find.querySelector('input');\n"
    "const count = document.getElementById('count'), all = document.createElement('button');\n"
    "const collator = new Intl.Collator('en', {numeric: true}), texts = new Map();\n"
    "const value = (row, i) => row.cells[i].dataset.v ?? row.cells[i].textContent;\n"
    "const text = row => texts.get(row) ?? texts.set(row, "
    "row.textContent.toLowerCase()).get(row);\n"
    "let limit = 500;\n"
    "const show = () => {\n"
    "  const words = q.value.toLowerCase().split(/\\s+/);\n"
    "  let found = 0;\n"
    "  for (const row of rows) {\n"
    "    const matches = words.every(word => !word || text(row).includes(word));\n"
    "    row.hidden = !matches || found >= limit;\n"
    "    found += matches;\n"
    "  }\n"
    "  all.hidden = found <= limit;\n"
    "  all.textContent = 'Show all ' + found;\n"
    "  count.textContent = Math.min(found, limit) + ' of ' + rows.length + ' shown';\n"
    "};\n"
    "const showAll = () => {\n"
    "  limit = rows.length;\n"
    "  show();\n"
    "};\n"
    "const order = (th, i) => {\n"
    "  const up = th.ariaSort === 'none' ? !th.classList.contains('n') : th.ariaSort !== "
    "'ascending';\n"
    "  for (const other of th.parentNode.cells) if (other.ariaSort) other.ariaSort = 'none';\n"
    "  th.ariaSort = up ? 'ascending' : 'descending';\n"
    "  const sign = up ? 1 : -1, numbers = th.classList.contains('n');\n"
    "  const values = new Map(rows.map(row => [row, value(row, i)]));\n"
    "  rows.sort((a, b) => {\n"
    "    const x = values.get(a), y = values.get(b);\n"
    "    if (!x || !y) return !x - !y;\n"
    "    return sign * (numbers ? x - y : collator.compare(x, y));\n"
    "  });\n"
    "  for (let at = 0; at < rows.length; at += 9999) body.append(...rows.slice(at, at + 9999));\n"
    "  show();\n"
    "};\n"
    "document.querySelectorAll('thead th:not(.u)').forEach(th => {\n"
    "  const button = document.createElement('button');\n"
    "  button.append(...th.childNodes);\n"
    "  button.onclick = () => order(th, th.cellIndex);\n"
    "  th.append(button);\n"
    "  th.ariaSort = 'none';\n"
    "});\n"
    "all.onclick = () => {\n"
    "  showAll();\n"
    "  q.focus();\n"
    "};\n"
    "find.append(all);\n"
    "find.hidden = false;\n"
    "q.oninput = show;\n"
    "onbeforeprint = showAll;\n"
    "show();\n"
    "body.className = '';\n";

/* ---------------------------------------------------------------------- the head */

static void heading(const struct site_page *page, const char *class, const char *text)
{
    fprintf(page->file, "<th scope=\"col\"%s%s%s>", class ? " class=\"" : "", class ? class : "",
            class ? "\"" : "");
    psnap_html_text(page->file, text);
    fputs("</th>", page->file);
}

void site_page_begin(const struct site_page *page)
{
    FILE *file = page->file;

    fputs(head, file);
    psnap_html_text(file, page->title);
    fputs("</title>\n<style>\n", file);
    for (size_t i = 0; i < sizeof style / sizeof style[0]; i++)
        fputs(style[i], file);
    fputs("</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#table\">Skip to the table</a>\n"
          "<header>\n<h1>",
          file);
    psnap_html_text(file, page->title);
    fputs("</h1>\n<p>Profiles of memory behaviour. The files are read by <code>psnap show</code>, "
          "<code>replay</code>, <code>sim</code> and others.</p>\n</header>\n<main>\n"
          "<p id=\"find\" hidden><label for=\"q\">Filter</label> <input id=\"q\" type=\"search\" "
          "autocomplete=\"off\" spellcheck=\"false\"> <span id=\"count\" role=\"status\"></span>"
          "</p>\n<p class=\"soft\" id=\"about\">",
          file);
    psnap_html_text(file, page->caption ? page->caption : "An empty cell: not known.");
    fputs("</p>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" id=\"table\" "
          "aria-label=\"Profiles\"><table aria-describedby=\"about\">\n<thead><tr>",
          file);
    heading(page, NULL, "Program");
    heading(page, NULL, "Command");
    heading(page, "n", "Accesses");
    heading(page, "n", "Loops");
    heading(page, "n", "Regions");
    heading(page, "n", "Working set");
    for (size_t i = 0; i < page->heading_count; i++)
        heading(page, "n", page->headings[i]);
    if (page->curves)
        heading(page, "u", page->curves);
    heading(page, "n", "Error, points");
    heading(page, NULL, "Recorded");
    heading(page, NULL, "Tags");
    heading(page, NULL, "Licence");
    heading(page, "u", "Profile");
    fputs("</tr></thead>\n<tbody class=\"long\">\n", file);
}

/* ------------------------------------------------------------------------- rows */

static void text_cell(FILE *file, const char *class, const char *text, size_t most)
{
    fprintf(file, "<td%s%s%s>", class ? " class=\"" : "", class ? class : "", class ? "\"" : "");
    psnap_html_name(file, text, most);
    fputs("</td>", file);
}

/* "\nhpc\nsparse\n": each between ends of lines. */
static void tags_cell(FILE *file, const char *tags)
{
    char tag[TAG_BYTES];

    fputs("<td>", file);
    for (bool is_first = true; *(tags += strspn(tags, "\n")); is_first = false) {
        const size_t length = strcspn(tags, "\n");
        snprintf(tag, sizeof tag, "%.*s", (int)(length < TAG_BYTES ? length : TAG_BYTES - 1), tags);
        fputs(is_first ? "" : ", ", file);
        psnap_html_text(file, tag);
        tags += length;
    }
    fputs("</td>", file);
}

static void count_cell(FILE *file, uint64_t value)
{
    char digits[32];
    int left = snprintf(digits, sizeof digits, "%" PRIu64, value);

    fprintf(file, "<td class=\"n\" data-v=\"%s\">", digits);
    for (const char *at = digits; *at; at++) {
        left--;
        fprintf(file, "%c%s", *at, left && left % 3 == 0 ? "," : "");
    }
    fputs("</td>", file);
}

static void bytes_cell(FILE *file, uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    size_t unit = 0;

    for (; value >= 1023.95 && unit + 1 < sizeof units / sizeof units[0]; unit++)
        value /= 1024;
    fprintf(file, "<td class=\"n\" data-v=\"%" PRIu64 "\">%.*f %s</td>", bytes, unit ? 1 : 0, value,
            units[unit]);
}

static void value_cell(FILE *file, double value)
{
    if (isnan(value))
        fputs("<td class=\"n\"></td>", file);
    else
        fprintf(file, "<td class=\"n\" data-v=\"%.6f\">%.2f</td>", value, value);
}

/* From the top, of 20: logarithmic from 1 to 0.0001. */
static double height_of(double share)
{
    return share <= 1e-4 ? 20 : -5 * log10(share);
}

static void curve_cell(FILE *file, const struct site_curve *curve)
{
    fputs("<td>", file);
    if (curve->count > 1) {
        fputs("<svg class=\"curve\" viewBox=\"0 0 100 20\" preserveAspectRatio=\"none\" "
              "role=\"img\"><title>",
              file);
        psnap_html_text(file, curve->words);
        fputs("</title><path d=\"", file);
        for (size_t i = 0; i < curve->count; i++)
            fprintf(file, "%s%.1f %.1f", i ? "L" : "M",
                    100.0 * (double)i / (double)(curve->count - 1), height_of(curve->shares[i]));
        fputs("\"/></svg>", file);
    }
    fputs("</td>", file);
}

static void name_cell(FILE *file, const struct site_row *row)
{
    const char *name = row->entry->texts[FACTS_NAME];

    fputs("<tr><th scope=\"row\">", file);
    if (row->has_report)
        fprintf(file, "<a href=\"" SITE_REPORT "\">", row->entry->id);
    psnap_html_name(file, *name ? name : "no name", NAME_CHARACTERS);
    if (row->has_report)
        fputs("</a>", file);
    if (row->problem) {
        fputs("<small class=\"bad\">", file);
        psnap_html_name(file, row->problem, 160);
        fputs("</small>", file);
    }
    fputs("</th>", file);
}

static void date_cell(FILE *file, const char *date)
{
    char day[DATE_CHARACTERS + 1];

    snprintf(day, sizeof day, "%s", date);
    fputs("<td class=\"d\" data-v=\"", file);
    psnap_html_text(file, date);
    fputs("\" title=\"", file);
    psnap_html_text(file, date);
    fputs("\">", file);
    psnap_html_text(file, day);
    fputs("</td>", file);
}

void site_page_row(struct site_page *page, const struct site_row *row)
{
    const struct entry *entry = row->entry;
    FILE *file = page->file;

    page->rows++;
    name_cell(file, row);
    text_cell(file, "m", entry->texts[FACTS_COMMAND], COMMAND_CHARACTERS);
    count_cell(file, entry->counts[FACTS_ACCESSES]);
    count_cell(file, entry->counts[FACTS_LOOPS]);
    count_cell(file, entry->counts[FACTS_REGIONS]);
    bytes_cell(file, entry->counts[FACTS_WORKING_SET]);
    for (size_t i = 0; i < page->heading_count; i++)
        value_cell(file, row->values ? row->values[i] : (double)NAN);
    if (page->curves)
        curve_cell(file, &row->curve);
    value_cell(file, entry->fidelity);
    date_cell(file, entry->texts[FACTS_RECORDED]);
    tags_cell(file, entry->texts[ENTRY_TAGS]);
    text_cell(file, "l", entry->texts[ENTRY_LICENCE], 24);
    fputs("<td class=\"m l\">", file);
    if (row->has_profile)
        fprintf(file, "<a href=\"" SITE_PROFILE "\" download>%.8s</a>", entry->id, entry->id);
    else
        fprintf(file, "%.8s", entry->id);
    fputs("</td></tr>\n", file);
}

void site_page_end(const struct site_page *page)
{
    fprintf(page->file,
            "</tbody>\n</table></div>\n</main>\n<footer>%" PRIu64
            " profile%s. Made by psnap " PSNAP_VERSION
            ". This page needs no network.</footer>\n<script>\n%s</script>\n</body>\n"
            "</html>\n",
            page->rows, page->rows == 1 ? "" : "s", script);
}
