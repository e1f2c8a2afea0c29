#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The dependency rule (table "May include" of the design): which folder may
# include what. Every #include "..." of the tree is checked against the table
# below, and so are the few outside libraries.
#
# * A folder's files include their own folder, formats/base and the public
#   headers (folder/folder.h) of the folders in its row.
# * cmd_*.[ch] and psnap.c wire folders together: any public header, and other
#   folders' cmd_*.h; formats/base/cmd.h is theirs alone.
# * capture/pass and capture/runtime see nothing of ours but the capture ABI; of
#   capture's other folders each includes those in its row of the second table,
#   none of them capture's own files but the public ones. Of capture/decode each file
#   includes its own header and those of the parts below it.
# * tests may include anything.
set -eu
cd "$PSNAP_SOURCE"

declare -A may_include=(
    [formats/base]=""
    [formats]=""
    [simcore]=""
    [profile]=""
    [replay]="profile"
    [predict]="profile simcore"
    [capture]="formats profile simcore"
)
# Within capture; what is in no subfolder may include all of them.
declare -A may_include_within=(
    [collect]=""
    [decode]="collect"
    [valgrind]="collect"
    [session]="collect valgrind"
)
decoder_parts="context hoisted value nest records decode" # from below
public_folders="formats simcore profile replay predict capture"

failures=0
complain()
{
    echo "$1:$2: $3"
    failures=$((failures + 1))
}

# The folder of a path, as the table names it.
folder_of()
{
    case $1 in
    formats/base/* | capture/pass/* | capture/runtime/*) folder=${1%/*} ;;
    */*) folder=${1%%/*} ;;
    *) folder=. ;;
    esac
}

# $1 file, $2 line number, $3 header, both of capture
check_within()
{
    local from=${1#capture/} to=${3#capture/} below
    [ "$3" != capture/capture.h ] && [ "$3" != capture/roi.h ] || return 0
    [ "$from" != "${from#*/}" ] || return 0
    from=${from%%/*}
    case " $from ${may_include_within[$from]-} " in
    *" ${to%%/*} "*) ;;
    *) complain "$1" "$2" "capture/$from may not include '$3'" ;;
    esac
    [ "$from/${to%%/*}" = decode/decode ] || return 0
    from=${1##*/} to=${3##*/} below=" $decoder_parts "
    from=${from%.*}
    case "${below%% "$from" *} $from " in
    *" ${to%.h} "*) ;;
    *) complain "$1" "$2" "'$3' is not below $from" ;;
    esac
}

is_command_file()
{
    case ${1##*/} in
    cmd_*.c | cmd_*.h) return 0 ;;
    psnap.c) [ "$1" = psnap.c ] ;;
    *) return 1 ;;
    esac
}

# $1 file, $2 line number, $3 what is included
check_quoted()
{
    local file=$1 number=$2 header=$3 from to
    folder_of "$file" && from=$folder
    folder_of "$header" && to=$folder
    case $from in
    tests) return ;;
    samples)
        case $header in
        ../sample.h) ;; # of samples/openmp
        */*) complain "$file" "$number" "a sample includes '$header'" ;;
        esac
        return
        ;;
    capture/pass | capture/runtime)
        case $header in
        formats/base/capture_abi.h | formats/base/capture_abi.inc | formats/base/capture_table.h) ;;
        */*) complain "$file" "$number" "'$header' is not the capture ABI" ;;
        *) [ -e "$from/$header" ] ||
            complain "$file" "$number" "'$header' is not in $from" ;;
        esac
        return
        ;;
    esac
    if [ ! -e "$header" ]; then
        complain "$file" "$number" "'$header' is no file, written from the project's root"
    elif [ "$header" = formats/base/cmd.h ]; then
        is_command_file "$file" || complain "$file" "$number" "only commands include '$header'"
    elif [ "$header" = formats/base/yaml_tree.h ]; then
        [ "$from" = formats/base ] || complain "$file" "$number" "'$header' is private"
    elif [ "$to" = "$from" ] || [ "$to" = formats/base ]; then
        if is_command_file "$header" && ! is_command_file "$file"; then
            complain "$file" "$number" "only commands include '$header'"
        fi
        [ "$to" != capture ] || check_within "$file" "$number" "$header"
    elif is_command_file "$file"; then
        is_command_file "$header" || [ "$header" = "$to/$to.h" ] ||
            complain "$file" "$number" "'$header' is private to $to"
    else
        case " ${may_include[$from]-} " in
        *" $to "*) ;;
        *) complain "$file" "$number" "$from may not include '$header'" ;;
        esac
        [ "$header" = "$to/$to.h" ] || complain "$file" "$number" "'$header' is private to $to"
    fi
}

declare -A users=() # of an outside library: "folder library" -> its files
check_angled()
{
    local file=$1 number=$2 header=$3 from library
    case $header in
    zdict.h) library=zstd ;;
    archive.h | archive_entry.h) library=archive ;;
    yaml.h | zstd.h | zstd_errors.h | xxhash.h | sqlite3.h | zlib.h) library=${header%%[_.]*} ;;
    gsl/*) library=gsl ;;
    nlopt.h) library=nlopt ;;
    llvm/* | clang/*) library=llvm ;;
    *) return ;;
    esac
    folder_of "$file" && from=$folder
    case "$from $library" in
    tests\ *) return ;;
    "capture/pass llvm" | "formats/base yaml" | "formats zstd" | "formats xxhash") ;;
    "formats zlib" | "formats archive") ;;
    "profile zstd" | "profile xxhash" | "profile sqlite3" | "profile archive" | "capture xxhash" | "capture zstd") ;;
    "simcore xxhash" | "predict xxhash" | "predict gsl" | "predict nlopt") ;;
    *) complain "$file" "$number" "$from may not include <$header>" ;;
    esac
    case "${users["$from $library"]-} " in
    *" $file "*) ;;
    *) users["$from $library"]="${users["$from $library"]-} $file" ;;
    esac
}

count=0
while IFS=: read -r file number text; do
    count=$((count + 1))
    text=${text#*include}
    text=${text#"${text%%[![:space:]]*}"}
    case $text in
    \"llvm/* | \"clang/*) text=${text#\"} && check_angled "$file" "$number" "${text%%\"*}" ;;
    \"*) text=${text#\"} && check_quoted "$file" "$number" "${text%%\"*}" ;;
    \<*) text=${text#<} && check_angled "$file" "$number" "${text%%>*}" ;;
    esac
done < <(grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*["<]' \
    --include='*.c' --include='*.h' --include='*.cpp' --include='*.inc' \
    psnap.c $public_folders samples tests)

for key in "${!users[@]}"; do
    set -- ${users[$key]}
    case $key in
    *" yaml" | *" zstd" | *" sqlite3" | *" archive" | *" zlib" | *" nlopt")
        [ $# -eq 1 ] || { echo "$key: included by more than one file: $*"; failures=$((failures + 1)); } ;;
    esac
done
[ "$count" -gt 100 ] || { echo "only $count includes found: the search is broken"; exit 1; }
echo "$count includes, $failures wrong"
[ "$failures" -eq 0 ]
