/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A repository as a static web site: index.html, one table that can be read without JavaScript and
 * sorted and filtered with it, and the profiles as files. Everything is in a new directory, which
 * is written beside its name and gets it at the end. Texts of profiles are escaped.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profile/repo/transfer.h"

struct site {
    int directory, profiles; /* file descriptors */
    struct repo_bytes page;
    void (*refused)(void *context, const struct psnap_error *error);
    void *context;
};

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<title>Profiles</title>\n<style>\n"
    "body { font: 15px/1.4 system-ui, sans-serif; margin: 2em; color: #222; background: #fff }\n"
    "table { border-collapse: collapse; margin-top: 1em }\n"
    "th, td { padding: .25em .8em; border-bottom: 1px solid #ddd; text-align: left;"
    " vertical-align: top }\n"
    "td.n { text-align: right; font-variant-numeric: tabular-nums }\n"
    "th { cursor: pointer; border-bottom: 2px solid #888; white-space: nowrap }\n"
    "td a { font-family: monospace }\n"
    "@media (prefers-color-scheme: dark) { body { color: #ddd; background: #181818 }"
    " a { color: #8bf } th, td { border-color: #444 } }\n"
    "</style>\n</head>\n<body>\n<h1>Profiles</h1>\n"
    "<p>Profiles of memory behaviour, to be read with <code>psnap show</code>.\n"
    "<span id=\"s\" hidden><input id=\"q\" type=\"search\" placeholder=\"filter\""
    " aria-label=\"filter\"></span></p>\n"
    "<table>\n<thead><tr><th>profile</th><th>program</th><th>command</th><th>accesses</th>"
    "<th>loops</th><th>regions</th><th>working set, bytes</th><th>error, points</th>"
    "<th>recorded</th><th>tags</th><th>licence</th></tr></thead>\n<tbody>\n";

static const char foot[] =
    "</tbody>\n</table>\n<script>\n"
    "const body = document.querySelector('tbody'), rows = [...body.rows], q = "
    "document.getElementById('q');\n"
    "document.getElementById('s').hidden = false;\n"
    "q.oninput = () => rows.forEach(r => r.hidden = "
    "!r.textContent.toLowerCase().includes(q.value.toLowerCase()));\n"
    "document.querySelectorAll('th').forEach((th, i) => { let up = false; th.onclick = () => {\n"
    "  up = !up;\n"
    "  const key = r => r.cells[i].dataset.v ?? r.cells[i].textContent;\n"
    "  rows.sort((a, b) => (up ? 1 : -1) * key(a).localeCompare(key(b), 'en', {numeric: true}));\n"
    "  body.append(...rows);\n"
    "}; });\n"
    "</script>\n</body>\n</html>\n";

static void add_text(struct repo_bytes *page, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '&':
            repo_bytes_print(page, "&amp;");
            break;
        case '<':
            repo_bytes_print(page, "&lt;");
            break;
        case '>':
            repo_bytes_print(page, "&gt;");
            break;
        case '"':
            repo_bytes_print(page, "&quot;");
            break;
        case '\'':
            repo_bytes_print(page, "&#39;");
            break;
        case '\n':
            repo_bytes_print(page, " ");
            break;
        default:
            repo_bytes_add(page, text, 1);
        }
}

static void add_cell(struct repo_bytes *page, const char *text)
{
    repo_bytes_print(page, "<td>");
    add_text(page, text);
    repo_bytes_print(page, "</td>");
}

static void add_number(struct repo_bytes *page, uint64_t value)
{
    char digits[32];
    int left = snprintf(digits, sizeof digits, "%" PRIu64, value);

    repo_bytes_print(page, "<td class=\"n\" data-v=\"%s\">", digits);
    for (const char *at = digits; *at; at++) {
        left--;
        repo_bytes_print(page, "%c%s", *at, left && left % 3 == 0 ? "," : "");
    }
    repo_bytes_print(page, "</td>");
}

static void add_row(struct repo_bytes *page, const struct entry *entry)
{
    repo_bytes_print(page, "<tr><td><a href=\"profiles/%.32s.yaml\">%.12s</a></td>", entry->id,
                     entry->id);
    add_cell(page, entry->texts[FACTS_NAME]);
    add_cell(page, entry->texts[FACTS_COMMAND]);
    add_number(page, entry->counts[FACTS_ACCESSES]);
    add_number(page, entry->counts[FACTS_LOOPS]);
    add_number(page, entry->counts[FACTS_REGIONS]);
    add_number(page, entry->counts[FACTS_WORKING_SET]);
    if (isnan(entry->fidelity))
        repo_bytes_print(page, "<td class=\"n\"></td>");
    else
        repo_bytes_print(page, "<td class=\"n\">%.2f</td>", entry->fidelity);
    add_cell(page, entry->texts[FACTS_RECORDED]);
    add_cell(page, entry->texts[ENTRY_TAGS]);
    add_cell(page, entry->texts[ENTRY_LICENCE]);
    repo_bytes_print(page, "</tr>\n");
}

static enum psnap_status write_file(int directory, const char *name, const struct repo_bytes *bytes,
                                    struct psnap_error *error)
{
    const int fd = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    size_t written = 0;
    bool is_good = fd >= 0;

    while (is_good && written < bytes->size) {
        const ssize_t n = write(fd, bytes->data + written, bytes->size - written);
        is_good = n > 0 || (n < 0 && errno == EINTR);
        written += n > 0 ? (size_t)n : 0;
    }
    if (!is_good)
        psnap_error_file(error, errno, "write", name);
    if (fd >= 0)
        close(fd);
    return is_good ? PSNAP_OK : PSNAP_ERROR_IO;
}

static enum psnap_status put_profile(void *context, const struct entry *entry,
                                     const struct repo_bytes *raw, struct psnap_error *error)
{
    struct site *site = context;
    char name[64];

    if (!raw) {
        site->refused(site->context, error);
        return PSNAP_OK;
    }
    add_row(&site->page, entry);
    snprintf(name, sizeof name, "%.32s.yaml", entry->id);
    return write_file(site->profiles, name, raw, error);
}

static enum psnap_status write_site(struct index *index, const struct index_query *query,
                                    struct site *site, struct psnap_error *error)
{
    const struct transfer transfer = {put_profile, site};
    enum psnap_status status;

    repo_bytes_print(&site->page, "%s", head);
    status = transfer_each(index, query, &transfer, error);
    repo_bytes_print(&site->page, "%s", foot);
    if (!status && site->page.is_short)
        status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    if (!status)
        status = write_file(site->directory, "index.html", &site->page, error);
    if (!status && syncfs(site->directory))
        status = psnap_error_system(error, errno, "cannot write the site");
    return status;
}

static bool remove_one(void *context, const struct entry *entry)
{
    const struct site *site = context;
    char name[64];

    snprintf(name, sizeof name, "%.32s.yaml", entry->id);
    unlinkat(site->profiles, name, 0);
    return true;
}

/* What was written is no site: files of this process alone, in a directory of its own. */
static void remove_site(struct index *index, const struct index_query *query, struct site *site,
                        const char *temporary)
{
    if (site->profiles >= 0)
        index_list(index, query, remove_one, site, NULL);
    if (site->directory >= 0) {
        unlinkat(site->directory, "index.html", 0);
        unlinkat(site->directory, "profiles", AT_REMOVEDIR);
    }
    rmdir(temporary);
}

enum psnap_status export_site(struct index *index, const struct index_query *query,
                              const char *path,
                              void (*refused)(void *context, const struct psnap_error *error),
                              void *context, struct psnap_error *error)
{
    struct site site = {.directory = -1, .profiles = -1, .refused = refused, .context = context};
    char temporary[4200];
    enum psnap_status status;
    size_t length = strlen(path);

    while (length > 1 && path[length - 1] == '/')
        length--;
    if ((size_t)snprintf(temporary, sizeof temporary, "%.*s.psnap-%ld", (int)length, path,
                         (long)getpid()) >= sizeof temporary)
        return psnap_error_set(error, PSNAP_ERROR_USAGE, "'%s' is too long", path);
    if (!access(path, F_OK) && rmdir(path)) /* an empty directory is as good as none */
        return psnap_error_set(error, PSNAP_ERROR_EXISTS, "'%s' exists already", path);
    if (mkdir(temporary, 0777) ||
        (site.directory = open(temporary, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0 ||
        mkdirat(site.directory, "profiles", 0777) ||
        (site.profiles = openat(site.directory, "profiles",
                                O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0)
        status = psnap_error_file(error, errno, "create", temporary);
    else
        status = write_site(index, query, &site, error);
    if (!status && renameat2(AT_FDCWD, temporary, AT_FDCWD, path, RENAME_NOREPLACE))
        status = psnap_error_file(error, errno, "create", path);
    if (status)
        remove_site(index, query, &site, temporary);
    if (site.profiles >= 0)
        close(site.profiles);
    if (site.directory >= 0)
        close(site.directory);
    repo_bytes_release(&site.page);
    return status;
}
