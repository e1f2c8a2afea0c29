#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The part of psnap's completion for bash that no table has to tell: 'psnap help --completion bash'
# prints it behind the names of commands, formats and machines (_psnap_commands, _psnap_formats,
# _psnap_machines) and the function _psnap_table COMMAND PREVIOUS, which sets `options`, `operand`,
# `parts` of the command, and `value` when the option PREVIOUS takes one.

# _psnap_offer KIND: what begins with $cur and is of this kind, as help names it, becomes COMPREPLY
_psnap_offer()
{
    local words='' before='' files='' IFS=$' \t\n'
    case $1 in
    COMMAND) words=$_psnap_commands ;;
    FORMAT) words=$_psnap_formats ;;
    MACHINE) words=$_psnap_machines files=-f ;;
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
    local cur=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} at=1 i
    local options operand value parts command
    COMPREPLY=()
    if [ "$cur" = = ]; then
        cur=''
    elif [ "$previous" = = ]; then
        previous=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    if [ "$COMP_CWORD" = 1 ]; then
        _psnap_words "$_psnap_commands --help --version"
        return
    fi
    for ((i = 2; i < COMP_CWORD; i++)); do
        [ "${COMP_WORDS[i]}" != -- ] || { _psnap_program $((i + 1)) && return; }
    done
    case ${COMP_WORDS[1]},$COMP_CWORD,${COMP_WORDS[2]} in
    help,2,* | help,*,-*) ;;
    help,*) at=2 ;; # help predict cache
    esac
    command=${COMP_WORDS[at]}
    _psnap_table "$command" "$previous"
    if [ -n "$parts" ] && [ "$COMP_CWORD" = $((at + 1)) ]; then
        _psnap_words "$parts --help"
        return
    elif [ -n "$parts" ]; then
        _psnap_table "$command ${COMP_WORDS[at + 1]}" "$previous"
    fi
    if [ -n "$value" ]; then
        _psnap_offer "$value"
    elif [ "${cur:0:1}" = - ]; then
        _psnap_words "$options"
    else
        case $operand,$previous in
        COMMAND,* | FORMAT,* | MACHINE,* | host,*) _psnap_offer "$operand" ;;
        DIR,"${COMP_WORDS[at + 1]}") _psnap_offer DIR ;; # the first one, of repo
        *) _psnap_offer FILE ;;
        esac
    fi
}
complete -F _psnap psnap
