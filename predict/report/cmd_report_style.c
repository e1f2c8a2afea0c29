/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The style sheet of pages of psnap report. Colours are variables, for light and dark, in figures
 * too (svg.h): --s1 to --s12 of series, --p0 to --p11 of a scale. All text, and all that has to be
 * told apart in figures, has a contrast of at least 4.5 to the paper (WCAG 2.1), series among
 * themselves differ in their marks as well.
 */
#include "predict/report/cmd_report.h"

#define LIGHT                                                                                      \
    "color-scheme:light;--paper:#fff;--card:#f5f7fa;--ink:#1b2430;--soft:#4d5b6b;"                 \
    "--line:#d5dce4;--grid:#c3ccd6;--edge:#ffffff;--link:#0a58a8;--good:#12703f;--bad:#b42318;--"  \
    "bar:#9cc3ec;"                                                                                 \
    "--s1:#0a58a8;--s2:#c2410c;--s3:#0b7a57;--s4:#8236a5;--s5:#806000;--s6:#b0105b;--s7:#4d5b6b;"  \
    "--s8:#00718c;--p0:#e9f1fa;--p1:#d3e4f4;--p2:#b9d6ee;--p3:#9cc6e6;--p4:#7cb3dc;--p5:#5e9fd0;"  \
    "--p6:#438ac3;--p7:#2d75b3;--p8:#1c60a1;--p9:#114d8c;--p10:#0a3b73;--p11:#062a57;"
#define DARK                                                                                       \
    "color-scheme:dark;--paper:#12171e;--card:#1b222c;--ink:#e6ebf1;--soft:#a9b5c2;"               \
    "--line:#313c49;--grid:#44515f;--edge:#12171e;--link:#7cb8ff;--good:#5fd39a;--bad:#ff8f85;--"  \
    "bar:#2f5f93;"                                                                                 \
    "--s1:#6cb2ff;--s2:#ff9d5c;--s3:#4fd1a5;--s4:#d29bf2;--s5:#e2c044;--s6:#ff85b8;--s7:#b6c2cf;"  \
    "--s8:#5fd3ee;--p0:#1d2a38;--p1:#1f364b;--p2:#21435f;--p3:#235074;--p4:#265f8a;--p5:#2b6fa2;"  \
    "--p6:#3581b9;--p7:#4794cd;--p8:#63a8dd;--p9:#86bde9;--p10:#acd3f2;--p11:#d5e9fa;"

const char *const report_style[] = {
    ":root{" LIGHT "}\n",
    "@media (prefers-color-scheme:dark){:root{" DARK "}}\n",
    "*{box-sizing:border-box}\n",
    "html{scroll-behavior:smooth;-webkit-text-size-adjust:100%}\n",
    "@media (prefers-reduced-motion:reduce){html{scroll-behavior:auto}}\n",
    "body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"
    "'Segoe UI',Roboto,'DejaVu Sans',sans-serif}\n",
    "a{color:var(--link)}\n",
    ":focus-visible{outline:3px solid var(--s2);outline-offset:2px}\n",
    ".skip{position:absolute;left:-999em}.skip:focus{left:1rem;top:1rem;background:var(--paper);"
    "padding:.5rem;z-index:2}\n",
    ".frame{max-width:82rem;margin:0 auto;padding:1.5rem 1.25rem 4rem;display:grid;"
    "grid-template-columns:12rem minmax(0,1fr);gap:0 2.5rem}\n",
    "header,footer{grid-column:1/-1}\n",
    "h1{font-size:2rem;line-height:1.15;margin:.1rem 0 .4rem;overflow-wrap:anywhere}\n",
    ".kind{margin:0;color:var(--soft);letter-spacing:.06em;text-transform:uppercase;"
    "font-size:.8rem;font-weight:600}\n",
    ".place{display:flex;flex-wrap:wrap;gap:.2rem 1.5rem;margin:0 0 1rem;max-width:none;"
    "font-size:.92rem}\n",
    ".command{margin:.2rem 0;font-family:ui-monospace,'DejaVu Sans Mono',monospace;font-size:.9rem;"
    "overflow-wrap:anywhere}\n",
    ".soft,figcaption,caption{color:var(--soft)}\n",
    "nav{position:sticky;top:1.25rem;align-self:start;font-size:.92rem;margin-top:1.9rem}\n",
    "nav ul{list-style:none;margin:0;padding:0;border-left:2px solid var(--line)}\n",
    "nav a{display:block;padding:.28rem .8rem;color:var(--ink);text-decoration:none}\n",
    "nav a:hover{color:var(--link);text-decoration:underline}\n",
    "h2{font-size:1.35rem;margin:2.6rem 0 .5rem;padding-top:.4rem}\n",
    "h2 a{color:inherit;text-decoration:none}h2 a:hover{text-decoration:underline}\n",
    "h3{font-size:1.05rem;margin:1.6rem 0 .3rem;overflow-wrap:anywhere}\n",
    "p{max-width:46rem;margin:.5rem 0}\n",
    ".lead{font-size:1.08rem}\n",
    ".tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(8rem,1fr));gap:.75rem;"
    "margin:1.1rem 0;padding:0}\n",
    ".tiles div{background:var(--card);border:1px solid var(--line);border-radius:.5rem;"
    "padding:.7rem .9rem}\n",
    ".tiles dt{color:var(--soft);font-size:.82rem}\n",
    ".tiles dd{margin:.1rem 0 0;font-size:1.2rem;font-weight:650;line-height:1.25;"
    "font-variant-numeric:tabular-nums;overflow-wrap:anywhere}\n",
    ".whole{white-space:nowrap}\n",
    ".tiles small{display:block;font-size:.78rem;font-weight:400;color:var(--soft)}\n",
    ".good{color:var(--good)}.bad{color:var(--bad)}\n",
    ".reasons{max-width:46rem}\n",
    ".note{background:var(--card);border-left:4px solid var(--s2);padding:.6rem .9rem;"
    "border-radius:.25rem}\n",
    ".scroll{overflow-x:auto;margin:.6rem 0}\n",
    "table{border-collapse:collapse;font-size:.9rem;width:100%}\n",
    "caption{text-align:left;padding:.2rem 0 .4rem;font-size:.88rem}\n",
    "th,td{padding:.32rem .65rem;text-align:left;border-bottom:1px solid var(--line);"
    "vertical-align:baseline}\n",
    "thead "
    "th{color:var(--soft);font-weight:600;font-size:.82rem;border-bottom-width:2px;white-space:"
    "normal;"
    "vertical-align:bottom}\n",
    "tbody th{font-weight:500;font-family:ui-monospace,'DejaVu Sans Mono',monospace;"
    "font-size:.84rem;overflow-wrap:anywhere;min-width:11rem}tbody th "
    "small{display:block;color:var(--soft);font-family:system-ui,'DejaVu "
    "Sans',sans-serif;font-size:.8rem}\n",
    "tbody tr:hover{background:var(--card)}\n",
    ".n,thead th.n{text-align:right;font-variant-numeric:tabular-nums}td.n{white-space:nowrap}\n",
    "td:not(.n){min-width:7rem;overflow-wrap:anywhere}\n",
    ".bar{min-width:8.5rem}\n",
    ".track{display:inline-block;width:3.5rem;height:.7em;margin-right:.5rem;background:var(--card)"
    ";"
    "border:1px solid var(--line);border-radius:2px;vertical-align:baseline;overflow:hidden}\n",
    ".track span{display:block;height:100%}\n",
    "figure{margin:1rem 0}\n",
    "figcaption{font-size:.9rem;max-width:46rem}\n",
    "figcaption b{color:var(--ink)}\n",
    ".plot{display:block;width:100%;max-width:62rem;min-width:36rem;height:auto;color:var(--ink);"
    "font-family:inherit}\n",
    ".pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(30rem,100%),1fr));gap:0 "
    "1.5rem}.pair .plot{min-width:26rem}\n",
    ".plot polygon{stroke:var(--edge);stroke-width:.5}\n",
    ".legend{list-style:none;display:flex;flex-wrap:wrap;gap:.2rem 1.3rem;margin:.6rem 0 "
    "0;padding:0;"
    "font-size:.9rem}\n",
    ".legend span[aria-hidden]{font-size:1.1em;font-weight:700}\n",
    "details{margin:.4rem 0 1rem}\n",
    "summary{cursor:pointer;color:var(--link);font-size:.92rem;padding:.2rem 0}\n",
    "footer{margin-top:3rem;padding-top:1rem;border-top:1px solid var(--line);font-size:.85rem;"
    "color:var(--soft)}\n",
    "code{font-family:ui-monospace,'DejaVu Sans Mono',monospace;font-size:.92em;"
    "overflow-wrap:anywhere}\n",
    "@media (max-width:60rem){.frame{display:block;padding:1rem}nav{position:static;margin:1rem 0 "
    "0}"
    "nav ul{border:0;display:flex;flex-wrap:wrap;gap:.4rem}nav a{padding:.25rem .7rem;border:1px "
    "solid var(--line);border-radius:1rem}h1{font-size:1.6rem}.plot{min-width:34rem}.pair "
    ".plot{min-width:22rem}}\n",
    "@media print{:root{" LIGHT
    "}body{font-size:10pt}.frame{display:block;max-width:none;padding:0}"
    "nav,.skip,.place{display:none}.scroll{overflow:visible}.plot{min-width:0;max-width:100%}"
    "figure,tr,.tiles div{break-inside:avoid}h2,h3,summary,.legend{break-after:avoid}"
    "tbody tr:hover{background:none}a{color:inherit;text-decoration:none}"
    "*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}\n",
    NULL};
