#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Whether a page of psnap report is one: report_page.py PAGE [--figures N] [--has TEXT ...] [--site]

Tags are balanced, ids unique, links go somewhere on the page, or with --site to files beside it,
figures have text alternatives and a table, nothing is fetched from anywhere, and nothing runs."""
import argparse
import html.parser
import os
import re
import sys

VOID = {"meta", "link", "br", "hr", "img", "input", "wbr"}
# Elements of figures that end themselves; HTML takes the slash for that within svg alone.
SELF_CLOSED = {"path", "polygon", "rect", "circle", "use"}


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.stack, self.ids, self.links, self.text = [], [], [], []
        self.tags, self.figures, self.problems = {}, [], []

    def handle_startendtag(self, tag, attrs):
        self.begin(tag, attrs)
        if tag not in SELF_CLOSED:
            self.problems.append(f"<{tag}/> closes itself")

    def handle_starttag(self, tag, attrs):
        self.begin(tag, attrs)
        if tag in SELF_CLOSED:
            self.problems.append(f"<{tag}> is not closed")
        if tag not in VOID:
            self.stack.append(tag)

    def begin(self, tag, attrs):
        self.tags[tag] = self.tags.get(tag, 0) + 1
        values = dict(attrs)
        if len(values) != len(attrs):
            self.problems.append(f"<{tag}> has an attribute twice: {attrs}")
        for name, value in attrs:
            if name.startswith("on") or name in ("src", "srcset", "formaction", "action"):
                self.problems.append(f"<{tag} {name}>")
            if name == "id":
                self.ids.append(value)
            if name in ("href", "xlink:href"):
                self.links.append(value)
            if name in ("aria-labelledby", "aria-describedby"):
                self.links += ["#" + word for word in value.split()]
        if tag == "svg":
            self.figures.append(values)

    def handle_endtag(self, tag):
        if not self.stack or self.stack[-1] != tag:
            self.problems.append(f"</{tag}> in {self.stack[-3:]}, line {self.getpos()}")
        else:
            self.stack.pop()

    def handle_data(self, data):
        if self.stack and self.stack[-1] not in ("style", "script"):
            self.text.append(data)


def luminance(colour):
    digits = colour[1:] if len(colour) == 7 else "".join(2 * c for c in colour[1:])
    channels = [int(digits[i:i + 2], 16) / 255 for i in (0, 2, 4)]
    channels = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * channels[0] + 0.7152 * channels[1] + 0.0722 * channels[2]


def low_contrasts(source):
    """Text and series of which the contrast to what they are on is below 4.5 (WCAG 2.1, AA)."""
    blocks = re.findall(r":root\{(.*?)\}", source[:source.index("</style>")])
    assert len(blocks) >= 2, "light and dark"
    for block in blocks:
        colours = dict(re.findall(r"--([a-z0-9]+):(#[0-9a-f]+)", block))
        for name in colours:
            if name not in ("ink", "soft", "link", "good", "bad") and not re.match(r"s\d", name):
                continue
            for under in ("paper", "card"):
                light, dark = sorted((luminance(colours[name]), luminance(colours[under])),
                                     reverse=True)
                if (light + 0.05) / (dark + 0.05) < 4.5:
                    yield f"--{name} on --{under} has not enough contrast: {colours}"


def goes_somewhere(link, page, path, is_site):
    if link == "data:," or link.startswith("#") and link[1:] in page.ids:
        return True
    return is_site and re.fullmatch(r"[a-z0-9/.]+", link) is not None and \
        os.path.isfile(os.path.join(os.path.dirname(path), link))


def problems_of(options):
    with open(options.page, encoding="utf-8", newline="") as file:
        source = file.read()
    page = Page()
    page.feed(source)
    page.close()
    problems = page.problems
    if page.stack:
        problems.append(f"not closed: {page.stack}")
    problems += [f"id {i} twice" for i in set(page.ids) if page.ids.count(i) > 1]
    for link in page.links:
        if not goes_somewhere(link, page, options.page, options.site):
            problems.append(f"a link to {link!r}")
    if re.search(r"(https?|ftp|file):|//[a-z]", source) or "@import" in source or "url(" in source:
        problems.append("something is fetched")
    for tag in ("script", "iframe", "object", "embed", "img", "form", "base"):
        if tag in page.tags:
            problems.append(f"there is a <{tag}>")
    for tag, least in (("h1", 1), ("main", 1), ("nav", 1), ("title", 1), ("table", 5)):
        if page.tags.get(tag, 0) < least:
            problems.append(f"no <{tag}>")
    if page.tags.get("h1") != 1 or page.tags.get("main") != 1:
        problems.append("more than one heading of the page")
    for figure in page.figures:
        if figure.get("role") != "img" or len(figure.get("aria-labelledby", "").split()) != 2:
            problems.append(f"a figure without text: {figure}")
    if page.tags.get("desc", 0) != len(page.figures):
        problems.append("a figure without description")
    if options.figures is not None and options.figures != len(page.figures):
        problems.append(f"{len(page.figures)} figures, not {options.figures}")
    if page.figures and page.tags.get("details", 0) < 5:
        problems.append("figures without tables")
    for needed in ("prefers-color-scheme:dark", "@media print", "prefers-reduced-motion"):
        if needed not in source:
            problems.append(f"the style lacks {needed}")
    problems += low_contrasts(source)
    text = re.sub(r"\s+", " ", " ".join(page.text))
    problems += [f"no {wanted!r} on the page" for wanted in options.has if wanted not in text]
    return problems


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("page")
    parser.add_argument("--figures", type=int)
    parser.add_argument("--has", action="append", default=[])
    parser.add_argument("--site", action="store_true")
    options = parser.parse_args()
    problems = problems_of(options)
    for problem in problems:
        print(f"{options.page}: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
