#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
#
# The documentation as pages for a browser: site.py PSNAP SOURCES TO
#
# Pages are the documents of the sources, by what a reader wants of them (tutorial, how-to, reference,
# explanation), and of each command, part of one and format what psnap itself prints. Links between documents become links
# between pages; files that are linked are copied. Needs Python's markdown (Debian package python3-markdown).
import html
import json
import pathlib
import posixpath
import re
import shutil
import subprocess
import sys

import markdown

SECTIONS = {
    "Start": ["README.md", "samples/packaging/README.md", "tests/README.md", "CHANGELOG.md"],
    "Tutorial": ["samples/TUTORIAL.md", "samples/STUDY.md", "samples/README.md"],
    "How to": ["samples/HOWTO.md", "capture/README.md"],
    "Reference": ["profile/FORMAT.md", "simcore/MACHINES.md", "formats/PST.md", "formats/CLIENTS.md",
                  "profile/repo/REPO.md", "predict/report/REPORT.md", "predict/worklist/WORKLIST.md"],
    "Explanation": ["samples/LIMITS.md", "replay/MODELS.md", "predict/reuse/REUSE.md", "predict/sdcm/SDCM.md", "predict/amm/AMM.md",
                    "predict/bandwidth/BANDWIDTH.md", "predict/hybrid/HYBRID.md",
                    "predict/multicore/MULTICORE.md", "predict/locality/LOCALITY.md",
                    "tests/fidelity/README.md", "tests/bench/README.md"],
    "Figures": [f"tests/fidelity/{table}.md" for table in ("nests", "psnap", "edits", "sizes")],
}
STYLE = """:root { color-scheme: light dark; --text: #222; --page: #fff; --box: #f4f4f0; --line: #ccc; --link: #0645ad }
@media (prefers-color-scheme: dark) {
:root { --text: #ddd; --page: #181a1b; --box: #232628; --line: #555; --link: #8ab4f8 } }
body { margin: 0; font: 16px/1.5 sans-serif; display: flex; color: var(--text); background: var(--page) }
a { color: var(--link) }
nav { flex: 0 0 15em; padding: 1em; background: var(--box); min-height: 100vh; font-size: 14px; box-sizing: border-box }
nav b { display: block; margin-top: 1em } nav a { display: block; text-decoration: none }
nav a.sub { padding-left: 1em; font-size: 13px } nav a[aria-current] { font-weight: bold }
nav input { width: 100%; box-sizing: border-box }
main { padding: 1em 2em; max-width: 52em; min-width: 0; overflow-wrap: anywhere }
pre { background: var(--box); padding: .7em; overflow-x: auto; font-size: 13px } code { font-size: 90% }
table { border-collapse: collapse; display: block; overflow-x: auto }
td, th { border: 1px solid var(--line); padding: .2em .6em; text-align: left; vertical-align: top }
@media (max-width: 50em) { body { flex-direction: column-reverse } nav { min-height: 0 } main { padding: 1em } }
@media print { nav { display: none } }
"""
# Shows the pages that have all the words, those with the words in their titles or headings first.
SEARCH = """const field = document.getElementById("search"), found = document.getElementById("found");
field.hidden = false;
field.oninput = () => {
    const words = field.value.toLowerCase().split(/\\s+/).filter(Boolean);
    const has = text => words.every(word => text.includes(word));
    found.replaceChildren(...(words.length ? pages : []).filter(page => has(page[2] + page[3]))
        .sort((a, b) => has(b[2]) - has(a[2])).slice(0, 12).map(page => {
            const link = document.createElement("a");
            link.textContent = page[0];
            link.href = up + page[1];
            return link;
        }));
};
"""


def say(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def names(text, after=None):
    """The first words of the lines of a list that psnap prints."""
    lines = text.split("\n\n")[1].splitlines()[1:] if after else text.splitlines()[1:]
    return [line.split()[0] for line in lines if line.strip()]


class Site:
    def __init__(self, psnap, sources, to):
        self.psnap, self.sources, self.to = psnap, sources, to
        self.documents = [name for section in SECTIONS.values() for name in section]
        self.nav = {section: [(self.title(name), self.page_of(name)) for name in listed]
                    for section, listed in SECTIONS.items()}
        self.made = {}  # pages of what psnap prints: their texts
        self.found = []  # of each page, for the search: title, address, headings, all its words

    def title(self, name):
        first = (self.sources / name).read_text().split("\n", 1)[0]
        if not first.startswith("# "):  # a table that a script has written
            return "Fidelity: " + pathlib.Path(name).stem
        return first.lstrip("# ").replace("`", "")

    @staticmethod
    def page_of(name):
        return "index.html" if name == "README.md" else re.sub(r"\.md$", ".html", name)

    def commands(self):
        commands = names(say(self.psnap, "help"), after="commands:")
        models = names(say(self.psnap, "predict", "--help"), after="models:")
        parts = names(say(self.psnap, "repo", "--help"), after="commands:")
        for command in commands + [f"predict {model}" for model in models] + [f"repo {part}" for part in parts]:
            page = f"commands/{command.replace(' ', '-')}.html"
            self.made[page] = (f"psnap {command}", say(self.psnap, *command.split(), "--help"))
        for name in names(say(self.psnap, "formats")):
            self.made[f"formats/{name}.html"] = (f"format {name}", say(self.psnap, "formats", name))
        self.nav["Commands"] = [(t, p) for p, (t, _) in self.made.items() if p.startswith("commands/")]
        self.nav["Trace formats"] = [(t, p) for p, (t, _) in self.made.items() if p.startswith("formats/")]

    def link(self, name, target):
        """Where a link of a document leads, NULL when it is to nothing that is shown."""
        path, _, anchor = target.partition("#")
        if re.match(r"[a-z]+:", target) or not path:
            return target
        found = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
        if (self.sources / found).is_dir():
            found = posixpath.join(found, "README.md")
        if found in self.documents:
            found = self.page_of(found)
        elif (self.sources / found).is_file() and not found.endswith(".md"):
            (self.to / found).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self.sources / found, self.to / found)
        else:
            return None
        found = posixpath.relpath(found, posixpath.dirname(self.page_of(name)) or ".")
        return found + ("#" + anchor if anchor else "")

    def navigation(self, page, body):
        """Links to all pages; of a page of recipes or models also to its headings, below it."""
        up = posixpath.relpath(".", posixpath.dirname(page) or ".")
        nav = ""
        for section, pages in self.nav.items():
            nav += f"<b>{section}</b>\n"
            for text, other in pages:
                here = ' aria-current="page"' if other == page else ""
                nav += f'<a href="{posixpath.normpath(posixpath.join(up, other))}"{here}>{html.escape(text)}</a>\n'
                for anchor, heading in re.findall(r'<h2 id="([^"]*)">(.*?)</h2>', body) if here else []:
                    nav += f'<a class="sub" href="#{anchor}">{re.sub("<.*?>", "", heading)}</a>\n'
        return nav, "" if up == "." else up + "/"

    def write(self, page, title, body):
        nav, up = self.navigation(page, body)
        headings = " ".join(re.findall(r"<h\d[^>]*>(.*?)</h\d>", body))
        words = sorted(set(re.findall(r"[\w-]{3,}", html.unescape(re.sub("<.*?>", " ", body)).lower())))
        self.found.append([title, page, re.sub("<.*?>", " ", f"{title} {headings}").lower(), " ".join(words)])
        path = self.to / page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>\n'
            f'<meta name="viewport" content="width=device-width">\n<style>\n{STYLE}</style></head>\n<body><nav>\n'
            f'<input id="search" type="search" placeholder="Search" aria-label="Search" hidden><div id="found"></div>\n'
            f"{nav}</nav>\n<main>\n{body}\n</main>\n"
            f'<script>const up = "{up}";</script><script src="{up}search.js"></script></body></html>\n')

    def document(self, name):
        def relink(match):
            target = self.link(name, html.unescape(match.group(1)))
            return f'<a href="{html.escape(target)}">{match.group(2)}</a>' if target else match.group(2)

        text = (self.sources / name).read_text()
        # lists need no empty line before them in the documents
        text = re.sub(r"(?m)^(?!\* |  |\n)(.+)\n(?=\* )", r"\1\n\n", text)
        body = markdown.markdown(text, extensions=["tables", "fenced_code", "toc", "sane_lists"])
        body = re.sub(r"<!--.*?-->\n?", "", body, flags=re.S)
        body = re.sub(r'<a href="([^"]*)">(.*?)</a>', relink, body, flags=re.S)
        self.write(self.page_of(name), self.title(name), body)

    def build(self):
        shutil.rmtree(self.to, ignore_errors=True)
        self.to.mkdir(parents=True)
        self.commands()
        for name in self.documents:
            self.document(name)
        for page, (title, text) in self.made.items():
            self.write(page, title, f"<h1>{html.escape(title)}</h1>\n<pre>{html.escape(text)}</pre>")
        (self.to / "search.js").write_text(f"const pages = {json.dumps(self.found)};\n{SEARCH}")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: site.py PSNAP SOURCES TO")
    Site(sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])).build()
