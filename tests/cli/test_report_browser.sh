#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Pages of psnap report in a browser, headless Chromium: no message on its console, all figures in
# the page that it makes of the file, and drawn, in the colours of light and dark, wide and narrow.
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

"$PSNAP" edit "$PSNAP_SOURCE/tests/golden/tutorial_nests.psnap.yaml" --span 64 --region b -o other.yaml
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

# shot NAME SIZE COLOUR... [-- OPTION...]: pixels of the colours
shot() {
    local name=$1 size=$2 colours=()
    shift 2
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        colours+=("$1")
        shift
    done
    [ $# = 0 ] || shift
    chrome "$@" --window-size="$size" --screenshot="$dir/$name.png" "file://$dir/two.html" > out
    [ ! -s console ] || fail "$name: $(cat console)"
    python3 "$PSNAP_SOURCE/tests/png_colours.py" "$name.png" "${colours[@]}"
}
# the paper, and the first two series: bars and marks of figures have them
read -r width height colours paper first second < <(shot light 1300,4000 ffffff 0a58a8 c2410c)
[ "$width $height" = "1300 4000" ] || fail "light: $width x $height"
[ "$colours" -gt 100 ] && [ "$paper" -gt 1000000 ] && [ "$first" -gt 3000 ] && [ "$second" -gt 1000 ] ||
    fail "light: $colours colours, $paper, $first, $second"
read -r width height colours paper first second light < <(shot dark 1300,4000 12171e 6cb2ff ff9d5c ffffff \
    -- --blink-settings=preferredColorScheme=0)
[ "$paper" -gt 1000000 ] && [ "$first" -gt 3000 ] && [ "$second" -gt 1000 ] && [ "$light" -lt 1000 ] ||
    fail "dark: $colours colours, $paper, $first, $second, $light"
read -r width height colours paper first second < <(shot narrow 500,4000 ffffff 0a58a8 c2410c)
[ "$paper" -gt 1000000 ] && [ "$first" -gt 1000 ] || fail "narrow: $colours colours, $paper, $first"

# on paper
chrome --print-to-pdf="$dir/page.pdf" --no-pdf-header-footer "file://$dir/page.html" > out
[ "$(head -c 4 page.pdf)" = %PDF ] || fail "no PDF: $(cat chrome.err)"
exit 0
