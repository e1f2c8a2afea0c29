#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Whether a page of psnap report is one: report_page.py PAGE [--figures N] [--has TEXT ...] [--index]

Tags are balanced, ids unique, links go somewhere on the page or to files beside it, figures are SVG in
the page, with a text alternative, and tables beside them, nothing is fetched from anywhere, and nothing
runs. --index: it is the index of a site, whose pages have their rows and lead back."""
import argparse
import html.parser
import os
import re
import sys
import urllib.parse
import xml.etree.ElementTree

VOID = {"meta", "link", "br", "img"}
SVG = "data:image/svg+xml,"


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.stack, self.ids, self.links, self.text = [], [], [], []
        self.tags, self.problems, self.figures, self.rows = {}, [], 0, []

    def handle_startendtag(self, tag, attrs):
        self.problems.append(f"<{tag}/> closes itself")

    def handle_starttag(self, tag, attrs):
        self.tags[tag] = self.tags.get(tag, 0) + 1
        values = dict(attrs)
        if len(values) != len(attrs):
            self.problems.append(f"<{tag}> has an attribute twice: {attrs}")
        for name, value in attrs:
            if name.startswith("on") or name in ("srcset", "formaction", "action") or \
                    name == "src" and tag != "img":
                self.problems.append(f"<{tag} {name}>")
            if name == "id":
                self.ids.append(value)
            if name == "href":
                self.links.append(value)
            if name == "aria-labelledby":
                self.links += ["#" + word for word in value.split()]
        if tag == "img":
            self.figure(values)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        self.end_row(tag == "tr")
        if tag not in VOID:
            self.stack.append(tag)

    def end_row(self, ends):
        """HTML lets the next row, or the end of the table's body, end a row."""
        if ends and self.stack and self.stack[-1] == "tr":
            self.stack.pop()

    def figure(self, values):
        self.figures += 1
        if not values.get("alt") or not values.get("src", "").startswith(SVG):
            self.problems.append(f"a figure without text, or from elsewhere: {values}")
            return
        svg = urllib.parse.unquote(values["src"][len(SVG):])
        for element in xml.etree.ElementTree.fromstring(svg).iter():
            if re.search(r"script|image|foreignObject$", element.tag) or \
                    any(name.startswith("on") for name in element.attrib):
                self.problems.append(f"a figure with {element.tag} {element.attrib}")

    def handle_endtag(self, tag):
        self.end_row(tag == "tbody")
        if not self.stack or self.stack[-1] != tag:
            self.problems.append(f"</{tag}> in {self.stack[-3:]}, line {self.getpos()}")
        else:
            self.stack.pop()

    def handle_data(self, data):
        if self.stack and self.stack[-1] != "style":
            self.text.append(data)
        if {"td", "th"} & set(self.stack):
            self.rows[-1][-1] += data


def luminance(colour):
    digits = colour[1:] if len(colour) == 7 else "".join(2 * c for c in colour[1:])
    channels = [int(digits[i:i + 2], 16) / 255 for i in (0, 2, 4)]
    channels = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * channels[0] + 0.7152 * channels[1] + 0.0722 * channels[2]


def low_contrasts(source):
    """Text of which the contrast to what it is on is below 4.5 (WCAG 2.1, AA)."""
    blocks = re.findall(r":root\{(.*?)\}", source[:source.index("</style>")])
    assert len(blocks) >= 2, "light and dark"
    for block in blocks:
        colours = dict(re.findall(r"--([a-z0-9]+):(#[0-9a-f]+)", block))
        for name, under in [(name, "paper") for name in ("ink", "soft", "link", "good", "bad")] + \
                [("ink", "bar")]:
            light, dark = sorted((luminance(colours[name]), luminance(colours[under])), reverse=True)
            if (light + 0.05) / (dark + 0.05) < 4.5:
                yield f"--{name} on --{under} has not enough contrast: {colours}"


def read(path):
    with open(path, encoding="utf-8", newline="") as file:
        source = file.read()
    page = Page()
    page.feed(source)
    page.close()
    return source, page


def goes_somewhere(link, page, path):
    return link == "data:," or link.startswith("#") and link[1:] in page.ids or \
        re.fullmatch(r"[a-z0-9/.-]+", link) is not None and \
        os.path.isfile(os.path.join(os.path.dirname(path), link))


def index_problems(path, page):
    """Each row has the whole program's hit rates of its page, which leads back."""
    for row in page.rows[1:]:
        if row[0] == "no page":
            continue
        name = next(link for link in page.links if re.match(re.escape(row[-1]) + r"\w*\.html", link))
        other, report = read(os.path.join(os.path.dirname(path), name))
        wanted = next(r for r in report.rows if r and r[0] == "whole program")[4:-1]
        if row[5:5 + len(wanted)] != wanted:
            yield f"{name}: {row} in the index, {wanted} on the page"
        if 'href="index.html"' not in other:
            yield f"{name} does not lead back"
        yield from problems_of(os.path.join(os.path.dirname(path), name), None, [], False)


def problems_of(path, figures, wanted, is_index):
    source, page = read(path)
    problems = page.problems
    if page.stack:
        problems.append(f"not closed: {page.stack}")
    problems += [f"id {i} twice" for i in set(page.ids) if page.ids.count(i) > 1]
    problems += [f"a link to {link!r}" for link in page.links if not goes_somewhere(link, page, path)]
    outside = re.sub(r'<img src="[^"]*"', "", source)
    if re.search(r"(https?|ftp|file):|//[a-z]", outside) or "@import" in source or "url(" in outside:
        problems.append("something is fetched")
    if "default-src 'none'" not in source:
        problems.append("no policy")
    for tag in ("script", "iframe", "object", "embed", "form", "base", "svg"):
        if tag in page.tags:
            problems.append(f"there is a <{tag}>")
    for tag, least in (("h1", 1), ("main", 1), ("title", 1), ("table", 1 if is_index else 5)):
        if page.tags.get(tag, 0) < least:
            problems.append(f"no <{tag}>")
    if page.tags.get("h1") != 1 or page.tags.get("main") != 1:
        problems.append("more than one heading of the page")
    if figures is not None and figures != page.figures:
        problems.append(f"{page.figures} figures, not {figures}")
    if page.figures and page.tags.get("details", 0) < 5:
        problems.append("figures without tables")
    for needed in ("prefers-color-scheme:dark", "@media print"):
        if needed not in source:
            problems.append(f"the style lacks {needed}")
    problems += low_contrasts(source)
    text = re.sub(r"\s+", " ", " ".join(page.text))
    problems += [f"no {words!r} on the page" for words in wanted if words not in text]
    return problems + (list(index_problems(path, page)) if is_index else [])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("page")
    parser.add_argument("--figures", type=int)
    parser.add_argument("--has", action="append", default=[])
    parser.add_argument("--index", action="store_true")
    options = parser.parse_args()
    problems = problems_of(options.page, options.figures, options.has, options.index)
    for problem in problems:
        print(f"{options.page}: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
