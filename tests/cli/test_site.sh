#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The documentation as a site: each command, model and format has a page, every link leads to a page or
# file that is there, and to a heading that is there, and no text of a document is lost on the way.
set -eu
. "$PSNAP_SOURCE/tests/cli/common.sh"
python=""
for candidate in python3 /usr/bin/python3; do
    [ -n "$python" ] || ! "$candidate" -c 'import markdown' 2> /dev/null || python=$candidate
done
[ -n "$python" ] || exit 77
"$python" "$PSNAP_SOURCE/samples/packaging/site.py" "$PSNAP" "$PSNAP_SOURCE" site
for command in $("$PSNAP" help | sed -n '/^commands:/,/^$/s/^  \([a-z+]*\) .*/\1/p') predict-cache; do
    has "site/commands/$command.html" 'usage: psnap'
done
for format in $("$PSNAP" formats | sed -n '2,$s/ .*//p'); do
    has "site/formats/$format.html" 'does not keep'
done
"$python" - site << 'CHECK'
import html.parser, pathlib, sys, urllib.parse

class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.links, self.ids, self.text, self.title = [], set(), "", ""
    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tag = tag
        if "href" in attributes:
            self.links.append(attributes["href"])
        if "id" in attributes:
            self.ids.add(attributes["id"])
    def handle_data(self, data):
        self.text += data

root = pathlib.Path(sys.argv[1]).resolve()
pages = {}
for path in root.rglob("*.html"):
    pages[path] = Page()
    pages[path].feed(path.read_text())
assert len(pages) > 55, len(pages)
count = 0
for path, page in pages.items():
    for link in page.links:
        if ":" in link:
            continue
        target, _, anchor = link.partition("#")
        file = (path.parent / urllib.parse.unquote(target)).resolve() if target else path
        assert file.is_file() and root in file.parents, f"{path}: {link}"
        assert not anchor or anchor in pages[file].ids, f"{path}: {link}: no such heading"
        count += 1
assert count > 1000, count
assert "every block runs in a test" in " ".join(pages[root / "samples/HOWTO.html"].text.split())
assert "|---" not in "".join(page.text for page in pages.values()), "a table was not understood"
assert "```" not in "".join(page.text for page in pages.values()), "a block was not understood"
main = pages[root / "samples/LIMITS.html"].text
assert all(word in main for word in ("Assumes", "Fails", "Measured"))
CHECK
has site/samples/HOWTO.html '<a class="sub" href="#ask-what-if">'
has site/commands/repo-add.html 'aria-current="page"'
has site/index.html 'prefers-color-scheme: dark'
! grep -rEo '(src|href)="(https?:)?//[^"]*"' site --include='*.html' | grep -E 'src=' || fail "something comes from the network"

# The search finds pages by their words
command -v node > /dev/null || exit 0
cat > search.mjs << 'SEARCH'
import fs from "fs";
const links = [], field = {}, list = { replaceChildren: (...all) => links.splice(0, links.length, ...all) };
globalThis.document = { getElementById: id => id === "search" ? field : list, createElement: () => ({}) };
(0, eval)('const up = "../";\n' + fs.readFileSync("site/search.js", "utf8").replace(/^const pages/, "var pages"));
field.value = "Victim lines";
field.oninput();
if (!links.some(link => link.href === "../simcore/MACHINES.html")) throw new Error(JSON.stringify(links));
field.value = "nothing of the kind xyzzy";
field.oninput();
if (links.length) throw new Error(JSON.stringify(links));
SEARCH
node search.mjs || fail "the search does not find"
exit 0
