#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Pages and sites of psnap report in a browser, headless Chromium: no message on its console, all
# figures in the page that it makes of the file, and drawn, in the colours of light and dark, wide and
# narrow; keyboard, mouse, contrasts, print (report_browser.py).
set -eu
. "$PSNAP_SOURCE/tests/cli/repo_common.sh"

command -v gnuplot > /dev/null || exit 77
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || exit 77

# chrome ARGUMENTS...: its messages are in console
chrome() {
    local sandbox=
    [ "$(id -u)" != 0 ] || sandbox=--no-sandbox
    timeout 180 "$browser" --headless=new $sandbox --disable-gpu --hide-scrollbars --no-first-run \
        --user-data-dir="$dir/user" --enable-logging=stderr --force-device-scale-factor=1 "$@" \
        2> chrome.err
    grep 'CONSOLE' chrome.err > console || true
}
if ! chrome --dump-dom about:blank > out || ! grep -q '<html>' out; then
    echo "the browser does not run here: $(tail -3 chrome.err)"
    exit 77
fi

# Would messages be seen? Something from elsewhere, which the page's own policy refuses.
"$PSNAP" report "$PSNAP_SOURCE/tests/golden/tutorial_nests.psnap.yaml" -o page.html
sed 's|</main>|<img src="http://127.0.0.1:9/x.png" alt=""></main>|' page.html > refused.html
chrome --dump-dom "file://$dir/refused.html" > out
[ -s console ] || fail "this test is blind: $(cat chrome.err)"

"$PSNAP" edit "$PSNAP_SOURCE/tests/golden/tutorial_nests.psnap.yaml" -e 'regions[b].working_set *= 64' -o other.yaml
"$PSNAP" report "$PSNAP_SOURCE/tests/golden/tutorial_nests.psnap.yaml" other.yaml \
    -m i7-5960x -m table1-3 -o two.html
for page in page two; do
    chrome --dump-dom "file://$dir/$page.html" > dom.html
    [ ! -s console ] || fail "$page: $(cat console)"
    written=$(grep -o '<svg ' $page.html | wc -l)
    [ "$written" -ge 7 ] && [ "$(grep -o '<svg ' dom.html | wc -l)" = "$written" ] ||
        fail "$page: $written figures, $(grep -o '<svg ' dom.html | wc -l) in the browser"
    # what the browser closed or moved would be elsewhere
    for tag in path polygon use table section details; do
        [ "$(grep -oE "<$tag[ >]" $page.html | wc -l)" = "$(grep -oE "<$tag[ >]" dom.html | wc -l)" ] ||
            fail "$page: the browser has other <$tag>"
    done
done

# shot PAGE SIZE COLOURS [OPTION...]: its width and height, colours, and pixels of these
shot() {
    local page=$1 size=$2 colours=$3
    shift 3
    chrome "$@" --window-size="$size" --screenshot="$dir/shot.png" "file://$dir/$page.html" > out
    [ ! -s console ] || fail "$page: $(cat console)"
    python3 "$PSNAP_SOURCE/tests/png_colours.py" shot.png $colours
}
# The paper, and the first two series. Figures have these: more of them than the same page has
# without figures, where bars in tables are left.
mkdir none
env PATH="$PWD/none" "$PSNAP" report "$PSNAP_SOURCE/tests/golden/tutorial_nests.psnap.yaml" other.yaml \
    -m i7-5960x -m table1-3 -o bare.html 2> err
drawn() { # NAME SIZE COLOURS [OPTION...]
    local what=$1 width height colours paper first second base_first base_second
    shift
    read -r width height colours paper base_first base_second < <(shot bare "$@")
    read -r width height colours paper first second < <(shot two "$@")
    [ "$width,$height" = "$1" ] || fail "$what: $width x $height"
    [ "$colours" -gt 100 ] && [ "$paper" -gt $((width * height / 2)) ] &&
        [ "$first" -gt $((base_first + 2000)) ] && [ "$second" -gt $((base_second + 2000)) ] ||
        fail "$what: $colours colours, $paper, $first ($base_first), $second ($base_second)"
}
drawn light 1300,9000 "ffffff 0a58a8 c2410c"
drawn dark 1300,9000 "12171e 6cb2ff ff9d5c" --blink-settings=preferredColorScheme=0
drawn narrow 500,9000 "ffffff 0a58a8 c2410c"

# Keyboard, mouse, contrasts, print. First whether the test sees what it has to see.
drive() {
    local sandbox=
    [ "$(id -u)" != 0 ] || sandbox=--no-sandbox
    timeout 600 python3 "$PSNAP_SOURCE/tests/report_browser.py" $sandbox "$browser" "$dir/driven" "$@"
}
sed 's/:focus-visible{outline:3px/:focus-visible{outline:0px/; s/--soft:#4d5b6b/--soft:#a0a8b0/
     s/href="#rates">Hit/href="#nowhere">Hit/; 0,/<summary>/s//<summary tabindex="-1">/
     s|</main>|<img src="http://127.0.0.1:9/x.png" alt=""></main>|
     s/nav,.skip,.place{display:none}/p{color:inherit}/
     s/.tiles small{/&width:60rem;/
     s/<header>/<header><p style="width:60rem">wide<\/p>/' page.html > bad.html
drive bad.html > out 2> err && fail "a bad page passed"
for problem in "the focus is not shown" "light texts of low contrast" "the link #nowhere leads" \
    "the keyboard does not reach ['SUMMARY" "on the console" "what paper cannot use" "on a telephone" "cards break"; do
    has err "$problem"
done
"$PSNAP" repo init probe
if "$PSNAP" repo list probe > out 2> err; then # there is SQLite
    sed 's/name: matmul/name: "matmul <b>\&amp;"/' other.yaml > third.yaml
    { echo address,size,kind,thread,ref && seq -f '0x%.0f,8,load,0,0' 1000 8 1800; } > walk.csv
    "$PSNAP" profile walk.csv -o plain.yaml 2> err
    "$PSNAP" repo add probe "$PSNAP_SOURCE/tests/golden/tutorial_nests.psnap.yaml" third.yaml plain.yaml \
        --tag one --tag two > out
    "$PSNAP" report probe -o site -m i7-5960x -m table1-3 > out
    "$PSNAP" report plain.yaml -m 32K:64:8,1M:64:16,32M:64:16,128M:64:16 -o cards.html
    (mkdir profiles && cd profiles && made 520)
    "$PSNAP" repo init many
    "$PSNAP" repo add many profiles/*.yaml > out
    "$PSNAP" report many -m 1K:64:2 -o many.d > out
    drive page.html two.html bare.html cards.html --site site --many many.d > out 2> err || fail "$(cat out err)"
    has out "ways: 3"
    has out "many: 520"
else
    drive page.html two.html bare.html > out 2> err || fail "$(cat out err)"
fi

# on paper
chrome --print-to-pdf="$dir/page.pdf" --no-pdf-header-footer "file://$dir/page.html" > out
[ "$(head -c 4 page.pdf)" = %PDF ] || fail "no PDF: $(cat chrome.err)"
exit 0
