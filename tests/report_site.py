#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Whether a directory is a site of psnap report: report_site.py DIR [--reports N] [--failed N]

The index page has a row for each entry, with the figures that its report has; reports and profiles are
there and lead back; its policy lets its own script run by its hash, and no other; texts are escaped.
Prints a line for each row: id, program, accesses, hit rates."""
import argparse
import base64
import hashlib
import html.parser
import os
import re
import sys

import report_page

VOID = {"meta", "link", "input"}


class Index(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.stack, self.rows, self.problems, self.headings = [], [], [], []

    def handle_startendtag(self, tag, attrs):
        if tag != "path":
            self.problems.append(f"<{tag}/>")

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if any(name.startswith("on") or name == "src" for name in attrs):
            self.problems.append(f"<{tag} {attrs}>")
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th") and self.rows:
            self.rows[-1].append({"text": "", "value": attrs.get("data-v"), "links": []})
        if tag == "a" and self.rows and self.rows[-1]:
            self.rows[-1][-1]["links"].append(attrs["href"])
        if tag == "path" and "d" in attrs and not re.fullmatch(r"[MLHV0-9. ]+", attrs["d"]):
            self.problems.append(f"a path {attrs['d']}")
        if tag not in VOID and tag != "path":
            self.stack.append(tag)

    def handle_endtag(self, tag):
        if not self.stack or self.stack.pop() != tag:
            self.problems.append(f"</{tag}> at {self.getpos()}")

    def handle_data(self, data):
        if self.rows and self.rows[-1] and {"td", "th"} & set(self.stack) and \
                "title" not in self.stack:
            self.rows[-1][-1]["text"] += data


def policy_problems(source):
    scripts = re.findall(r"<script[^>]*>(.*?)</script>", source, re.DOTALL)
    digests = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts]
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', source).group(1)
    if len(scripts) != 1 or f"script-src 'sha256-{digests[0]}'" not in policy:
        yield f"scripts {digests}, allowed: {policy}"
    if "default-src 'none'" not in policy:
        yield f"the policy {policy}"
    if re.search(r"(https?|ftp|file):", source):
        yield "something is fetched"


def rates_in(page):
    """The whole program's simulated hit rates in the page's first table of them."""
    section = page[page.index('<section id="rates"'):]
    row = re.search(r'<th scope="row">whole program</th>(.*?)</tr>', section).group(1)
    numbers = re.findall(r'<td class="n">([0-9.]+)</td>', row)
    return numbers[0::2]


def row_problems(options, row, headings, lines):
    profile = row[-1]["links"]
    report = row[0]["links"]
    if options.failed and not profile and not report:
        return
    ids = {re.sub(r".*/|\..*", "", link) for link in profile + report}
    if len(ids) != 1 or len(profile) != 1:
        yield f"links {profile}, {report}"
        return
    entry = ids.pop()
    if not os.path.isfile(os.path.join(options.site, profile[0])):
        yield f"no file {profile[0]}"
    levels = [i for i, heading in enumerate(headings) if re.search(r"L\d %$", heading)]
    rates = [row[i]["text"] for i in levels]
    lines.append(" ".join([entry, row[0]["text"], row[2]["value"]] + rates))
    if not report:
        return
    path = os.path.join(options.site, report[0])
    with open(path, encoding="utf-8") as file:
        page = file.read()
    for problem in report_page.problems_of(
            argparse.Namespace(page=path, figures=None, has=[], site=True)):
        yield f"{entry}: {problem}"
    if 'href="index.html"' not in page or f'href="{profile[0]}" download' not in page:
        yield f"{entry} does not lead back"
    if rates[:len(rates_in(page))] != rates_in(page):
        yield f"{entry}: the index has {rates}, the report {rates_in(page)}"
    if len(rates) < 1 or not all(re.fullmatch(r"\d+\.\d\d", rate) for rate in rates):
        yield f"{entry}: rates {rates}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("site")
    parser.add_argument("--reports", type=int)
    parser.add_argument("--failed", type=int, default=0)
    options = parser.parse_args()
    with open(os.path.join(options.site, "index.html"), encoding="utf-8", newline="") as file:
        source = file.read()
    index = Index()
    index.feed(source)
    index.close()
    problems = index.problems + list(policy_problems(source))
    if index.stack:
        problems.append(f"not closed: {index.stack}")
    headings = [cell["text"] for cell in index.rows.pop(0)]
    lines = []
    for row in index.rows:
        if len(row) != len(headings):
            problems.append(f"{len(row)} cells, {len(headings)} headings")
        problems += row_problems(options, row, headings, lines)
    reports = sum(bool(row[0]["links"]) for row in index.rows)
    if options.reports is not None and reports != options.reports:
        problems.append(f"{reports} reports, not {options.reports}")
    if len(index.rows) != reports + options.failed:
        problems.append(f"{len(index.rows)} rows, {reports} reports")
    files = {name for name in os.listdir(options.site)} - {"index.html", "profiles"}
    linked = {row[0]["links"][0] for row in index.rows if row[0]["links"]}
    if files != linked:
        problems.append(f"files {files ^ linked} that nothing leads to, or the other way round")
    for problem in problems:
        print(f"{options.site}: {problem}", file=sys.stderr)
    print("\n".join(sorted(lines)))
    return 1 if problems else 0


sys.exit(main())
