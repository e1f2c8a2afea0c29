#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Pages of psnap report in a browser: report_browser.py BROWSER FOLDER PAGE... --site DIR

Of each page: nothing on the console; the keyboard reaches every link, summary, table and figure, and
shows where it is; Enter opens tables; every link within the page leads to its section; text has a contrast
of 4.5 and more to what is behind it, in light, dark and print. Of the index of a site besides: sorting
by mouse and keyboard, filtering, links to reports and back, and all of the table without JavaScript;
--many DIR has more than 500 rows.
"""
import argparse
import base64
import os
import sys

from browser import Browser

# What is focused, as it is seen; null: nothing of the page.
FOCUSED = """(() => {
  const e = document.activeElement;
  if (!e || e === document.body) return null;
  const s = getComputedStyle(e), r = e.getBoundingClientRect();
  if (!e.dataset.t) e.dataset.t = String(++window.focusCount || (window.focusCount = 1));
  return {n: +e.dataset.t, tag: e.tagName, text: e.textContent.slice(0, 40), visible: e.matches(':focus-visible'),
          outline: s.outlineStyle, width: parseFloat(s.outlineWidth),
          seen: r.bottom > 0 && r.top < innerHeight && r.right > 0 && r.left < innerWidth};
})()"""

# What must be reachable and is not, by the marks that FOCUSED has left.
NOT_REACHED = """[...document.querySelectorAll('a[href], summary, button, input, .scroll')]
  .filter(e => e.checkVisibility() && !e.dataset.t)
  .map(e => e.tagName + ' ' + (e.getAttribute('aria-label') || e.textContent).slice(0, 40))"""

# Texts whose contrast is too low, with it; how many texts there are is the last element.
CONTRASTS = """(() => {
  const canvas = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});
  const rgba = colour => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const luminance = c => {
    const [r, g, b] = c.map(x => x / 255).map(x => x <= .03928 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4);
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const behind = e => {
    for (; e; e = e.parentElement) {
      const colour = rgba(getComputedStyle(e).backgroundColor);
      if (colour[3] === 255) return colour;
      if (colour[3]) return null;
    }
    return [255, 255, 255, 255];
  };
  const found = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let count = 0;
  for (let node; (node = walker.nextNode());) {
    const e = node.parentElement;
    if (!node.data.trim() || !e.checkVisibility() || e.closest('script, style, title, desc')) continue;
    const style = getComputedStyle(e), paper = behind(e);
    const ink = rgba(e.closest('svg') ? style.fill : style.color);
    const [low, high] = [luminance(ink), paper ? luminance(paper) : -1].sort((a, b) => a - b);
    const contrast = paper && ink[3] === 255 ? (high + .05) / (low + .05) : 0;
    count++;
    if (contrast < 4.5) found.push([node.data.trim().slice(0, 40), e.tagName, contrast, style.color]);
  }
  return [...found.slice(0, 5), count];
})()"""

# Cards whose text goes over their edge, and words of them that are broken; how many cards there are is
# the last element. Numbers and their units are one word.
CARDS = """(() => {
  const found = [], cards = [...document.querySelectorAll('.tiles div')];
  for (const card of cards) {
    if (card.scrollWidth > card.clientWidth) found.push('over its edge: ' + card.textContent);
    const walker = document.createTreeWalker(card, NodeFilter.SHOW_TEXT);
    for (let node; (node = walker.nextNode());)
      for (const word of node.data.matchAll(/[^ ,]+,?/g)) {
        const range = document.createRange();
        range.setStart(node, word.index);
        range.setEnd(node, word.index + word[0].length);
        if (new Set([...range.getClientRects()].map(r => Math.round(r.top))).size > 1) found.push(word[0]);
      }
  }
  return [...found, cards.length];
})()"""

problems = []


def must(holds, *what):
    if not holds:
        problems.append(" ".join(str(word) for word in what))


def walk(browser, page):
    """Tab from the start to the end: all that can be used is reached, and shown."""
    first = browser.js("document.activeElement === document.body")
    must(first, page, "something has the focus from the start")
    browser.tab()
    skip = browser.js(FOCUSED)
    must(skip and skip["text"].startswith("Skip to") and skip["seen"], page, "no skip link:", skip)
    count = 0
    focused = skip
    seen = set()
    while focused and focused["n"] not in seen and count < 2000:
        seen.add(focused["n"])
        must(focused["visible"] and focused["outline"] != "none" and focused["width"] >= 2, page,
             "the focus is not shown:", focused)
        must(focused["seen"], page, "the focus is out of sight:", focused)
        count += 1
        browser.tab()
        focused = browser.js(FOCUSED)
    left = browser.js(NOT_REACHED)
    must(not left, page, "the keyboard does not reach", left)
    must(count > 3, page, "only", count, "things have the focus")
    return count


def follow(browser, page):
    """Every link within the page, by mouse; the skip link by keyboard."""
    links = browser.js("[...document.querySelectorAll('a[href^=\"#\"]:not(.skip)')].length")
    for i in range(links):
        at = browser.js(f"""(() => {{
          const a = document.querySelectorAll('a[href^="#"]:not(.skip)')[{i}];
          a.scrollIntoView({{block: 'center'}});
          const r = a.getClientRects()[0];
          return [r.left + r.width / 2, r.top + r.height / 2, a.hash];
        }})()""")
        browser.click(at[0], at[1])
        where = browser.js("""(() => {
          const e = document.querySelector(':target');
          return [location.hash, e ? e.getBoundingClientRect().top : null, innerHeight,
                  scrollY + innerHeight >= document.documentElement.scrollHeight - 2];
        })()""")
        must(where[0] == at[2] and where[1] is not None and
             (-60 < where[1] < 200 or where[3] and 0 < where[1] < where[2]), page,
             "the link", at[2], "leads to", where)
    return links


def open_tables(browser, page):
    """Enter on each summary shows what it hides."""
    count = browser.js("document.querySelectorAll('details').length")
    for i in range(count):
        was = browser.js(f"document.querySelectorAll('summary')[{i}].focus(), "
                         f"document.querySelectorAll('details')[{i}].open")
        browser.enter()
        must(browser.js(f"document.querySelectorAll('details')[{i}].open") != was, page,
             "Enter does not open table", i)


def look(browser, page):
    """Contrasts, in all ways to see the page."""
    for media, scheme in (("", "light"), ("", "dark"), ("print", "light"), ("print", "dark")):
        browser.media(media, scheme)
        found = browser.js(CONTRASTS)
        must(found.pop() > 20, page, "hardly any text")
        must(not found, page, media, scheme, "texts of low contrast:", found)
        paper = browser.js("getComputedStyle(document.body).backgroundColor")
        wanted = "rgb(18, 23, 30)" if scheme == "dark" and not media else "rgb(255, 255, 255)"
        must(paper == wanted, page, media, scheme, "paper", paper)
        if media:
            shown = browser.js("[...document.querySelectorAll('nav, .skip, .place, #find')]"
                               ".some(e => e.checkVisibility())")
            must(not shown, page, "what paper cannot use is printed")
    browser.media()
    must(base64.b64decode(browser.pdf()).startswith(b"%PDF"), page, "no PDF")
    check_cards(browser, page)
    browser.size(420, 800)
    check_cards(browser, page)
    wide = browser.js("document.documentElement.scrollWidth")
    must(wide <= 420, page, "on a telephone the page is", wide, "wide")
    browser.size(1300, 900)


def check_cards(browser, page):
    found = browser.js(CARDS)
    must(found.pop() > 5 or page == "index.html", page, "hardly any card")
    must(not found, page, "cards break", found)


def check(browser, page):
    browser.media()
    browser.open(page)
    name = os.path.basename(page)
    said = browser.said()
    must(not said, name, "on the console:", said)
    reached = walk(browser, name)
    links = follow(browser, name)
    open_tables(browser, name)
    look(browser, name)
    must(not browser.said(), name, "on the console:", browser.said())
    print(f"{name}: {reached} reached, {links} links")


# ------------------------------------------------------------------------- the index

CELLS = """(i => [...document.querySelectorAll('tbody tr')].filter(r => !r.hidden)
  .map(r => r.cells[i].dataset.v ?? r.cells[i].textContent))"""


def sorting(browser, column, press):
    """Twice: one way, and the other."""
    states = []
    for _ in range(2):
        press()
        state = browser.js(f"document.querySelectorAll('thead th')[{column}].ariaSort")
        others = browser.js(f"""[...document.querySelectorAll('thead th')].filter((t, i) =>
            i !== {column} && t.ariaSort && t.ariaSort !== 'none').length""")
        must(others == 0, "two columns are sorted")
        values = browser.js(f"{CELLS}({column})")
        known = [v for v in values if v]
        must(values[:len(known)] == known, "what is not known is not last:", values)
        try:
            order = sorted(known, key=float)
        except ValueError:
            order = sorted(known, key=str.lower)
        must(known == (order if state == "ascending" else order[::-1]), "column", column, state,
             values)
        states.append(state)
    must(sorted(states) == ["ascending", "descending"], "column", column, states)


def check_sorting(browser):
    columns = browser.js("""[...document.querySelectorAll('thead th')]
        .map((t, i) => t.querySelector('button') ? i : -1).filter(i => i >= 0)""")
    must(len(columns) >= 10, "only columns", columns, "can be sorted")
    for column in columns:
        button = f"document.querySelectorAll('thead th')[{column}].querySelector('button')"
        browser.js(f"{button}.focus()")
        sorting(browser, column, browser.enter)
        sorting(browser, column, browser.space)
        at = browser.js(f"""(() => {{ const b = {button}; b.scrollIntoView({{block: 'center'}});
            const r = b.getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height / 2]; }})()""")
        sorting(browser, column, lambda: browser.click(*at))


def check_filter(browser):
    rows = browser.js(f"{CELLS}(0)")
    browser.js("document.getElementById('q').focus()")
    browser.type(rows[0].upper())
    wanted = [r for r in rows if rows[0].lower() in r.lower()]
    found = browser.js(f"{CELLS}(0)")
    must(set(found) == set(wanted) and len(found) < len(rows), "filtered:", found, "of", rows)
    said = browser.js("document.getElementById('count').textContent")
    must(said == f"{len(found)} of {len(rows)} shown", said)
    browser.type(" nosuchprogram")
    must(browser.js(f"{CELLS}(0)") == [], "a filter that nothing passes")
    for _ in range(len(rows[0]) + 20):
        browser.key("Backspace", 8)
    must(len(browser.js(f"{CELLS}(0)")) == len(rows), "the filter stays")


def check_ways(browser, index):
    """To each report by keyboard and mouse, and back."""
    count = browser.js("document.querySelectorAll('tbody th a').length")
    for i in range(count):
        name = browser.js(f"document.querySelectorAll('tbody th a')[{i}].textContent")
        browser.js(f"document.querySelectorAll('tbody th a')[{i}].focus()")
        browser.events = []
        browser.enter()
        browser.loaded()
        title = browser.js("document.querySelector('h1').textContent")
        must(title == name, "behind", name, "there is", title)
        must(not browser.said(), name, browser.said())
        at = browser.js("""(() => { const r = document.querySelector('.place a').getBoundingClientRect();
            return [r.left + r.width / 2, r.top + r.height / 2]; })()""")
        browser.events = []
        browser.click(*at)
        browser.loaded()
        must(browser.js("location.pathname").endswith("/index.html"), "back from", name)
    files = browser.js("[...document.querySelectorAll('a[download]')].map(a => a.pathname)")
    must(len(files) == count and all(os.path.isfile(file) for file in files), "profiles", files)
    return count


def check_bare(browser, index):
    """Without JavaScript the table is there, without what would not work."""
    rows = browser.js("document.querySelectorAll('tbody tr').length")
    browser.scripts(False)
    browser.open(index)
    seen = browser.js("""[document.querySelectorAll('tbody tr').length,
        document.querySelectorAll('thead button').length,
        document.getElementById('find').checkVisibility(),
        document.querySelector('tbody th a').checkVisibility()]""")
    must(seen == [rows, 0, False, True], "without JavaScript:", seen)
    browser.scripts(True)


def check_site(browser, site):
    index = os.path.join(site, "index.html")
    check(browser, index)
    browser.open(index)
    check_sorting(browser)
    check_filter(browser)
    print("ways:", check_ways(browser, index))
    check_bare(browser, index)


def check_many(browser, site):
    """Of more than 500 rows the others are shown when they are asked for, or printed; sorting and
    filtering are of all."""
    index = os.path.join(site, "index.html")
    browser.open(index)
    rows = browser.js("document.querySelectorAll('tbody tr').length")
    seen = "[...document.querySelectorAll('tbody tr')].filter(r => r.checkVisibility()).length"
    must(rows > 500 and browser.js(seen) == 500, "of", rows, "rows", browser.js(seen), "are seen")
    said = browser.js("document.getElementById('count').textContent")
    must(said == f"500 of {rows} shown", said)
    most = browser.js("String(Math.max(...[...document.querySelectorAll('tbody tr')].map(r => r.cells[2].dataset.v)))")
    browser.js("document.querySelectorAll('thead button')[2].click()")
    must(browser.js(f"{CELLS}(2)")[0] == most and browser.js(seen) == 500, "the most accesses are not first")
    last = browser.js("[...document.querySelectorAll('tbody tr')].pop().cells[1].textContent")
    browser.js("document.getElementById('q').focus()")
    browser.type(last)
    found = browser.js(f"{CELLS}(1)")
    must(last in found and len(found) < 500, last, "is not found, but", found)
    for _ in last:
        browser.key("Backspace", 8)
    browser.js("document.querySelector('#find button').focus()")
    must(browser.js("document.activeElement.textContent") == f"Show all {rows}", "no button for all")
    browser.enter()
    must(browser.js(seen) == rows, "not all are shown")
    must(browser.js("[document.querySelector('#find button').checkVisibility(), document.activeElement.id]")
         == [False, "q"], "the button stays")
    browser.open(index)
    browser.pdf()
    must(browser.js(seen) == rows, "not all are printed")
    browser.scripts(False)
    browser.open(index)
    must(browser.js(seen) == rows, "without JavaScript", browser.js(seen), "of", rows, "are seen")
    browser.scripts(True)
    print("many:", rows)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("browser")
    parser.add_argument("folder")
    parser.add_argument("pages", nargs="*")
    parser.add_argument("--site")
    parser.add_argument("--many")
    parser.add_argument("--no-sandbox", action="store_true")
    options = parser.parse_args()
    browser = Browser(options.browser, options.folder,
                      ["--no-sandbox"] if options.no_sandbox else [])
    try:
        for page in options.pages:
            check(browser, page)
        if options.site:
            check_site(browser, options.site)
        if options.many:
            check_many(browser, options.many)
    finally:
        browser.close()
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


sys.exit(main())
