#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap run: consumers on standard input and through a FIFO, their exit statuses, those that do not
# read on, are not there or never open the FIFO; and what goes wrong before one is started.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
export TMPDIR=$dir/tmp
mkdir tmp

fail() {
    echo "test_run: $*" >&2
    exit 1
}

# expect STATUS ARGUMENTS...
expect() {
    local wanted=$1 got=0
    shift
    "$PSNAP" run "$@" > out 2> err || got=$?
    [ "$got" = "$wanted" ] || fail "psnap run $* ended with $got, not $wanted: $(cat err)"
    [ -z "$(ls tmp)" ] || fail "psnap run $* left $(ls tmp)"
}

awk 'BEGIN {for (i = 0; i < 200000; i++) printf "%d %x\n", i % 3 == 0, 65536 + 4 * i}' > trace.din

# The same bytes as convert writes, both ways
"$PSNAP" convert trace.din -o wanted.csv 2> err
expect 0 trace.din -f csv -- cat
cmp out wanted.csv
grep -q "200,000 accesses of 'trace.din' as csv to 'cat', which ended with 0" err || fail "$(cat err)"
expect 0 trace.din -f csv -- cat {}
cmp out wanted.csv
expect 0 trace.din -f csv --skip 10 --count 5 -- sh -c 'test -p "$1" && cat "$1"' sh {}
[ "$(wc -l < out)" = 6 ] || fail "$(cat out)"
# A folder for the FIFO whose name is long, and one that is not there
long=$dir/deep
for letter in a b c; do long=$long/$(printf "$letter%.0s" {1..200}); done
mkdir -p "$long"
TMPDIR=$long expect 0 trace.din -f csv -- cat {}
cmp out wanted.csv
[ -z "$(ls "$long")" ] || fail "left $(ls "$long")"
TMPDIR=$dir/nowhere expect 1 trace.din -f csv -- touch started {}
grep -q "cannot make a folder for a FIFO in '$dir/nowhere': no such file or directory" err || fail "$(cat err)"
[ ! -e started ] || fail "a consumer was started without a FIFO"
"$PSNAP" run - -f din -- wc -l < trace.din > out 2> err
[ "$(tr -d ' ' < out)" = 200000 ] || fail "$(cat out)"
"$PSNAP" run - -f din -- sh -c 'cat > nothing; wc -l < "$1"' sh {} < trace.din > out 2> err
[ "$(tr -d ' ' < out)" = 200000 ] || fail "$(cat out)"
[ ! -s nothing ] || fail "the consumer got our standard input"
"$PSNAP" convert trace.din -o trace.pst 2> err
expect 0 trace.pst -f pst -- "$PSNAP" sim - -m 32K:64:8 --by total

# Its exit status is ours; reading on is up to it
expect 7 trace.din -f din -- sh -c 'cat > /dev/null; exit 7'
expect 1 trace.din -f din -- head -n 1
grep -q "which did not read on, left [0-9]* bytes unread, and ended with 0" err || fail "$(cat err)"
# nor is what fits into the pipe read by one that ends without reading it
printf '0 10\n1 20\n' > two.din
expect 1 two.din --from din -f din -- sleep 0.1
grep -q "which did not read on, left [0-9]* bytes unread, and ended with 0" err || fail "$(cat err)"
expect 1 two.din --from din -f din -- sh -c 'exec 3< "$0"; sleep 0.1' {}
grep -q "left [0-9]* bytes unread" err || fail "$(cat err)"
expect 1 trace.din -f din -- sh -c 'cat "$1" > /dev/null; cat "$1"' sh {} # once only
grep -q "No such file" err || fail "$(cat err)"
expect 3 trace.din -f din -- sh -c 'exit 3' {}
expect 143 trace.din -f din -- sh -c 'kill $$'
expect 127 trace.din -f din -- no-such-program-here
grep -q "cannot run 'no-such-program-here': no such file" err || fail "$(cat err)"
expect 126 trace.din -f din -- /

# A signal to psnap alone ends the consumer, too, and psnap ends by it; one to the group likewise,
# and one to a psnap that waits for its input. Nothing is left. (A shell's background jobs ignore
# SIGINT, so Python starts them.)
cat > signals.py << 'END'
import os, signal, subprocess, sys, time

def wait_for(what):
    while not what():
        time.sleep(0.01)

number, whom, stream, *arguments = sys.argv[1:]
number = getattr(signal, number)
signal.signal(signal.SIGHUP, signal.SIG_IGN if whom == "nohup" else signal.SIG_DFL)
psnap = subprocess.Popen([os.environ["PSNAP"], "run", *arguments], stdin=subprocess.PIPE,
                         start_new_session=True, restore_signals=False)
if stream != "-":
    psnap.stdin.write(open(stream, "rb").read())
    psnap.stdin.flush()
    if stream == "short.din":
        psnap.stdin.close()
    wait_for(lambda: os.path.exists("pid") and os.path.getsize("pid"))
else:
    wait_for(lambda: os.listdir("tmp"))
if whom == "group":
    os.killpg(psnap.pid, number)
else:
    os.kill(psnap.pid, number)
if whom == "nohup":
    psnap.stdin.close()
print(psnap.wait())
if number == signal.SIGKILL:
    wait_for(lambda: not os.listdir("tmp"))
if os.path.exists("pid"):
    consumer = int(open("pid").read())
    def is_gone():
        try:
            with open(f"/proc/{consumer}/stat") as stat:
                return stat.read().rpartition(")")[2].split()[0] in "ZX"
        except (FileNotFoundError, ProcessLookupError):
            return True
    wait_for(is_gone)
END
# shellcheck disable=SC2016
reads='echo $$ > new; mv new pid; exec cat ${1-} > /dev/null'
signals() { # WANTED SIGNAL WHOM STREAM CONSUMER...
    local wanted=$1
    shift
    rm -f pid
    timeout 300 python3 signals.py "$1" "$2" "$3" - -f din -- "${@:4}" > out 2> err || fail "$*: $(cat err)"
    [ "$(cat out)" = "$wanted" ] || fail "$*: ended with $(cat out), not $wanted: $(cat err)"
    [ -z "$(ls tmp)" ] || fail "$*: left $(ls tmp)"
}
for whom in psnap group; do
    signals -2 SIGINT $whom trace.din sh -c "$reads" sh {}
    signals -15 SIGTERM $whom trace.din sh -c "$reads" sh {}
    signals -1 SIGHUP $whom trace.din sh -c "$reads" sh {}
    signals -15 SIGTERM $whom trace.din sh -c "$reads"
done
# (TSan delivers a signal once the call that waits for input has returned: it would wait for ever.)
nm "$PSNAP" | grep -q __tsan_init || signals -15 SIGTERM psnap - cat {}
signals 0 SIGHUP nohup trace.din sh -c "$reads" sh {}
# Killed, it removes nothing itself; the consumer comes to the stream's end
for whom in psnap group; do
    signals -9 SIGKILL $whom trace.din sh -c "$reads" sh {}
done
# One that never opens the FIFO
head -n 100 trace.din > short.din
signals -15 SIGTERM psnap short.din sh -c 'echo $$ > new; mv new pid; exec sleep 600' sh {}
# One that does not mind: psnap ends, and with it the stream
signals -15 SIGTERM psnap trace.din sh -c "trap '' TERM; $reads" sh {}

# Nothing is started when there is nothing to feed
expect 1 nowhere.pst -f din -- touch started
expect 2 trace.din -f nonesuch -- touch started
expect 2 trace.din -- touch started
expect 2 trace.din -f din -m 32K:64:8 -m none -- touch started
expect 2 trace.din -f din
expect 2 trace.din -f din --
expect 2 -f din -- touch started
[ ! -e started ] || fail "a consumer was started"

# A stream that fails is our failure
printf '0 10\nbad\n' > bad.din
expect 1 bad.din -f din -- cat
grep -q "bad.din:2:" err || fail "$(cat err)"
