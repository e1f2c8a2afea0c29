#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Pages of psnap report in a browser: report_browser.py BROWSER FOLDER PAGE... --site DIR

Of each page: nothing on the console; the keyboard reaches every link, summary, table and figure, and
shows where it is; Enter opens tables; every link within the page leads to its section; text has a contrast
of 4.5 and more to what is behind it, in light, dark and print; figures are there. Of the index of a site
besides: links to pages and back.
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
NOT_REACHED = """[...document.querySelectorAll('a[href], summary, .scroll')]
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
    if (!node.data.trim() || !e.checkVisibility() || e.closest('style')) continue;
    const style = getComputedStyle(e), paper = behind(e);
    const ink = rgba(style.color);
    const [low, high] = [luminance(ink), paper ? luminance(paper) : -1].sort((a, b) => a - b);
    const contrast = paper && ink[3] === 255 ? (high + .05) / (low + .05) : 0;
    count++;
    if (contrast < 4.5) found.push([node.data.trim().slice(0, 40), e.tagName, contrast, style.color]);
  }
  return [...found.slice(0, 5), count];
})()"""

# Figures that the browser could not show.
FIGURES = "[...document.images].filter(i => !i.naturalWidth).map(i => i.alt)"

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
            shown = browser.js("[...document.querySelectorAll('nav, .skip, .place')]"
                               ".some(e => e.checkVisibility())")
            must(not shown, page, "what paper cannot use is printed")
    browser.media()
    must(base64.b64decode(browser.pdf()).startswith(b"%PDF"), page, "no PDF")
    must(not browser.js(FIGURES), page, "figures are not shown:", browser.js(FIGURES))
    browser.size(420, 800)
    wide = browser.js("document.documentElement.scrollWidth")
    must(wide <= 420, page, "on a telephone the page is", wide, "wide")
    browser.size(1300, 900)


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


def check_site(browser, site):
    index = os.path.join(site, "index.html")
    check(browser, index)
    browser.open(index)
    print("ways:", check_ways(browser, index))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("browser")
    parser.add_argument("folder")
    parser.add_argument("pages", nargs="*")
    parser.add_argument("--site")
    parser.add_argument("--no-sandbox", action="store_true")
    options = parser.parse_args()
    browser = Browser(options.browser, options.folder,
                      ["--no-sandbox"] if options.no_sandbox else [])
    try:
        for page in options.pages:
            check(browser, page)
        if options.site:
            check_site(browser, options.site)
    finally:
        browser.close()
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


sys.exit(main())
