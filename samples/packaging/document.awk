# A document of the sources (Markdown, as far as these use it) as a page of the manual, for groff and mandoc:
#
#   awk -v name=psnap-profile -v section=5 -v summary="..." -v version=0.1.0 -f document.awk FORMAT.md
#
# Headings, paragraphs, lists, blocks and tables; of a table each row is an entry with its first cell as tag.
# Of a link its text stays. Plain awk.

function escape(text)
{
    gsub(/\\/, "\\(rs", text)
    gsub(/-/, "\\-", text)
    gsub(/'/, "\\(aq", text)
    gsub(/\^/, "\\(ha", text)
    gsub(/~/, "\\(ti", text)
    return text
}

# **strong** and *stressed* of a text without code
function stress(text,   before, inside)
{
    while (match(text, /\[[^]]*\]\([^)]*\)/)) {
        before = substr(text, 1, RSTART - 1)
        inside = substr(text, RSTART + 1, RLENGTH)
        sub(/\].*/, "", inside)
        text = before inside substr(text, RSTART + RLENGTH)
    }
    while (match(text, /\*\*[^*]+\*\*/))
        text = substr(text, 1, RSTART - 1) "\\fB" substr(text, RSTART + 2, RLENGTH - 4) "\\fR" substr(text, RSTART + RLENGTH)
    while (match(text, /\*[A-Za-z][^*]*[^* ]\*/))
        text = substr(text, 1, RSTART - 1) "\\fI" substr(text, RSTART + 1, RLENGTH - 2) "\\fR" substr(text, RSTART + RLENGTH)
    return text
}

function inline(text,   parts, n, i, result)
{
    gsub(/\\\|/, "|", text)
    n = split(escape(text), parts, "`")
    for (i = 1; i <= n; i++)
        result = result (i % 2 ? stress(parts[i]) : "\\fB" parts[i] "\\fR")
    gsub(/\]\([^)]*\)/, "", result) # links whose text is code
    gsub(/\[\\fB/, "\\fB", result)
    return result
}

function put(text)
{
    is_begun = 0 # a section, in which its first paragraph needs no macro
    if (text ~ /^[.']/)
        text = "\\&" text
    print text
}

# The paragraph or item that was gathered
function flush()
{
    if (gathered != "")
        put(inline(gathered))
    gathered = ""
}

function row(line,   cells, n, i, text, quoted, c, cell)
{
    n = 0
    cell = ""
    for (i = 2; i <= length(line); i++) {
        c = substr(line, i, 1)
        if (c == "`")
            quoted = !quoted
        if (c == "\\" && substr(line, i + 1, 1) == "|") {
            cell = cell "|"
            i++
        } else if (c == "|" && !quoted) {
            gsub(/^ +| +$/, "", cell)
            cells[++n] = cell
            cell = ""
        } else
            cell = cell c
    }
    for (i = 2; i <= n; i++)
        if (cells[i] != "")
            text = text (text == "" ? "" : "; ") cells[i]
    if (cells[1] == "" && text == "")
        return
    print ".TP"
    put("\\fB" inline(cells[1] == "" ? "(all)" : cells[1]) "\\fR")
    put(inline(text == "" ? "\\&" : text))
}

function kept(line)
{
    put(escape(line))
}

BEGIN {
    printf ".\\\" Made from a document of the sources\n.TH \"%s\" %s \"\" \"psnap %s\" \"psnap\"\n.nh\n.ad l\n", toupper(name), section, version
    printf ".SH NAME\n%s \\- %s\n", escape(name), escape(summary)
    print ".SH DESCRIPTION"
    is_begun = 1
}

/^```/ {
    flush()
    in_block = !in_block
    print (in_block ? (is_begun ? ".nf" : ".PP\n.nf") : ".fi")
    is_begun = 0
    next
}
in_block { kept("    " $0); next }
/^<!--/ { next }
/^    / && gathered == "" && !in_item {
    if (!in_kept)
        print (is_begun ? ".nf" : ".PP\n.nf")
    in_kept = 1
    kept($0)
    next
}
in_kept { print ".fi"; in_kept = 0 }
/^# / { next }
/^## / { flush(); in_item = 0; print ".SH " inline(substr($0, 4)); is_begun = 1; next }
/^###+ / { flush(); in_item = 0; sub(/^#+ /, ""); print ".SS " inline($0); is_begun = 1; next }
/^\|[-| :]+\|?$/ { next }
/^\|/ { flush(); in_item = 0; row($0); next }
/^ *$/ { flush(); in_item = 0; next }
/^ *([*-]|[0-9]+\.) / {
    flush()
    text = $0
    sub(/^ *([*-]|[0-9]+\.) +/, "", text)
    print ".IP \\(bu 2"
    gathered = text
    in_item = 1
    is_begun = 0
    next
}
{
    if (gathered == "" && !in_item && !is_begun)
        print ".PP"
    sub(/^ +/, "")
    gathered = gathered (gathered == "" ? "" : " ") $0
}

END {
    flush()
    if (in_kept)
        print ".fi"
    print ".SH SEE ALSO\n.BR psnap (1)"
}
