#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Pages and sites of psnap report in a browser, headless Chromium: no message on its console, all that
# is in the file in the page that it makes of it, figures drawn, in light and dark, wide and narrow;
# keyboard, mouse, contrasts, print (report_browser.py).
set -eu
. "$PSNAP_SOURCE/tests/cli/common.sh"

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
    # what the browser closed or moved would be elsewhere
    for tag in img table section details tr; do
        [ "$(grep -oE "<$tag[ >]" $page.html | wc -l)" = "$(grep -oE "<$tag[ >]" dom.html | wc -l)" ] ||
            fail "$page: the browser has other <$tag>"
    done
    [ "$(grep -o '<img ' dom.html | wc -l)" -ge 6 ] || fail "$page: $(grep -o '<img ' dom.html | wc -l) figures"
done

# shot PAGE SIZE COLOURS [OPTION...]: its width and height, colours, and pixels of these
shot() {
    local page=$1 size=$2 colours=$3
    shift 3
    chrome "$@" --window-size="$size" --screenshot="$dir/shot.png" "file://$dir/$page.html" > out
    [ ! -s console ] || fail "$page: $(cat console)"
    python3 "$PSNAP_SOURCE/tests/png_colours.py" shot.png $colours
}
# The paper, and two colours of figures, which a page without figures does not have: of series in light;
# in dark what is black is white, and nothing black.
drawn() { # NAME SIZE COLOURS LEAST MOST [OPTION...]
    local what=$1 least=$4 most=$5 width height colours paper first second
    read -r width height colours paper first second < <(shot two "$2" "$3" "${@:6}")
    [ "$width,$height" = "$2" ] || fail "$what: $width x $height"
    [ "$colours" -gt 100 ] && [ "$paper" -gt $((width * height / 2)) ] && [ "$first" -gt 1000 ] &&
        [ "$second" -ge "$least" ] && [ "$second" -le "$most" ] ||
        fail "$what: $colours colours, $paper, $first, $second"
}
drawn light 1300,6000 "ffffff 0a58a8 c2410c" 1000 999999
drawn narrow 500,6000 "ffffff 0a58a8 c2410c" 200 999999
drawn dark 1300,6000 "12171e ffffff 000000" 0 500 --blink-settings=preferredColorScheme=0
mkdir none
env PATH="$PWD/none" "$PSNAP" report "$PSNAP_SOURCE/tests/golden/tutorial_nests.psnap.yaml" other.yaml -o bare.html 2> err

# Keyboard, mouse, contrasts, print. First whether the test sees what it has to see.
drive() {
    local sandbox=
    [ "$(id -u)" != 0 ] || sandbox=--no-sandbox
    timeout 600 python3 "$PSNAP_SOURCE/tests/report_browser.py" $sandbox "$browser" "$dir/driven" "$@"
}
sed 's/:focus-visible{outline:3px/:focus-visible{outline:0px/; s/--soft:#4d5b6b/--soft:#a0a8b0/
     s/href="#rates">Hit/href="#nowhere">Hit/; 0,/<summary>/s//<summary tabindex="-1">/
     s|</main>|<img src="http://127.0.0.1:9/x.png" alt="x"></main>|
     s/nav,.skip,.place{display:none}/p{color:inherit}/
     s/<h1>/<p style="width:60rem">wide<\/p><h1>/' page.html > bad.html
drive bad.html > out 2> err && fail "a bad page passed"
for problem in "the focus is not shown" "light texts of low contrast" "the link #nowhere leads" \
    "the keyboard does not reach ['SUMMARY" "on the console" "what paper cannot use" "on a telephone" \
    "figures are not shown: ['x']"; do
    has err "$problem"
done
"$PSNAP" repo init probe
sed 's/name: matmul/name: "matmul <b>\&amp;"/' other.yaml > third.yaml
"$PSNAP" repo add probe "$PSNAP_SOURCE/tests/golden/tutorial_nests.psnap.yaml" third.yaml --tag one --tag two > out
"$PSNAP" report probe -o site -m i7-5960x -m table1-3 > out
drive page.html two.html bare.html --site site > out 2> err || fail "$(cat out err)"
has out "ways: 2"

# on paper
chrome --print-to-pdf="$dir/page.pdf" --no-pdf-header-footer "file://$dir/page.html" > out
[ "$(head -c 4 page.pdf)" = %PDF ] || fail "no PDF: $(cat chrome.err)"
exit 0
