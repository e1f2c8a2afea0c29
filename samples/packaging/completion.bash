# Completion of psnap's commands, options and values for bash. What there is it asks psnap: the options of
# a command are those of its --help, which names the kinds of their values (FORMAT, MACHINE, FILE, a|b|c).

# _psnap_names: of a help that lists commands or models, these
_psnap_names()
{
    sed -n '/^\(commands\|models\):/,/^$/s/^  \([a-z+]*\) .*/\1/p'
}

# _psnap_heads: of a help, "-m, --machine MACHINE" of each option
_psnap_heads()
{
    awk '/^  -/ { if (substr($0, 30, 1) == " ") $0 = substr($0, 1, 29); sub(/^ +/, ""); sub(/ +$/, ""); print }'
}

# _psnap_offer KIND: what begins with $cur and is of this kind becomes COMPREPLY
_psnap_offer()
{
    local words='' before='' files='' IFS=$' \t\n'
    case $1 in
    COMMAND) words=$("$psnap" help | _psnap_names) ;;
    FORMAT) words=$("$psnap" formats | sed -n '2,$s/ .*//p') ;;
    MACHINE | host) words=$("$psnap" machines | sed -n '2,$s/ .*//p') files=-f ;;
    SCOPES)
        words='total loop block region thread'
        case $cur in *,*) before=${cur%,*}, ;; esac
        ;;
    DIR) files=-d ;;
    *...*) ;;
    *FILE* | *.* | INPUT | TRACE | LARGE | OTHER) files=-f ;;
    *[a-z]'|'* | [a-z]*) words=${1//|/ } ;;
    esac
    COMPREPLY=($(compgen -P "$before" -W "$words" -- "${cur#"$before"}"))
    if [ -n "$files" ]; then
        IFS=$'\n'
        COMPREPLY+=($(compgen "$files" -- "$cur"))
        compopt -o filenames 2> /dev/null
    fi
    return 0
}

_psnap_words()
{
    COMPREPLY=($(compgen -W "$1" -- "$cur"))
    case ${COMPREPLY[*]} in *=) compopt -o nospace 2> /dev/null ;; esac
    return 0
}

# _psnap_program FIRST: the word of another program's command line, which begins at FIRST
_psnap_program()
{
    if declare -F _command_offset > /dev/null; then
        _command_offset "$1"
    elif [ "$1" = "$COMP_CWORD" ]; then
        COMPREPLY=($(compgen -c -- "$cur"))
    else
        _psnap_offer FILE
    fi
}

_psnap()
{
    local psnap=${COMP_WORDS[0]} cur=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} at=1 i
    local help heads parts value operand
    COMPREPLY=()
    if [ "$cur" = = ]; then
        cur=''
    elif [ "$previous" = = ]; then
        previous=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    if [ "$COMP_CWORD" = 1 ]; then
        _psnap_words "$("$psnap" help | _psnap_names) --help --version"
        return
    fi
    for ((i = 2; i < COMP_CWORD; i++)); do
        [ "${COMP_WORDS[i]}" != -- ] || { _psnap_program $((i + 1)) && return; }
    done
    case ${COMP_WORDS[1]},$COMP_CWORD,${COMP_WORDS[2]} in
    help,2,* | help,*,-*) ;;
    help,*) at=2 ;; # help predict cache
    esac
    help=$("$psnap" "${COMP_WORDS[at]}" --help 2> /dev/null)
    parts=$(_psnap_names <<< "$help")
    if [ -n "$parts" ] && [ "$COMP_CWORD" = $((at + 1)) ]; then
        _psnap_words "$parts --help"
        return
    elif [ -n "$parts" ]; then
        at=$((at + 1))
        help=$("$psnap" "${COMP_WORDS[at - 1]}" "${COMP_WORDS[at]}" --help 2> /dev/null)
    fi
    heads=$(_psnap_heads <<< "$help")
    value=$(awk -v option="$previous" '{ n = split($0, word, /[ ,=]+/) }
        word[n] !~ /^-/ { for (i = 1; i < n; i++) if (word[i] == option) print word[n] }' <<< "$heads")
    operand=$(sed -n "1s/^usage: psnap ${COMP_WORDS[*]:1:at} *\[*\([A-Za-z|.]*\).*/\1/p" <<< "$help")
    if [ -n "$value" ]; then
        _psnap_offer "$value"
    elif [ "${cur:0:1}" = - ]; then
        _psnap_words "$(tr ', ' '\n' <<< "$heads" | sed -n 's/^\(-[^=]*=*\).*/\1/p')"
    else
        case $operand,$previous in
        COMMAND,* | FORMAT,* | MACHINE,* | host,*) _psnap_offer "$operand" ;;
        DIR,"${COMP_WORDS[at]}") _psnap_offer DIR ;; # the first one, of repo
        *) _psnap_offer FILE ;;
        esac
    fi
}
complete -F _psnap psnap
