# bash --norc offers.bash SCRIPT DIRECTORY LINE: what bash offers at the end of the line, one to a line.
# shellcheck shell=bash source=/dev/null
source "$1" || exit 1
cd "$2" || exit 1
line=$3
function=$(complete -p sparkplan | sed -n 's/.* -F \([^ ]*\) sparkplan$/\1/p')
[[ -n $function ]] || exit 1
# As readline does it, to which "=" is a word.
read -ra COMP_WORDS <<<"${line//=/ = }"
[[ $line != *' ' ]] || COMP_WORDS+=('')
COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_LINE=$line COMP_POINT=${#line}
"$function" sparkplan "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
((${#COMPREPLY[@]} == 0)) || printf '%s\n' "${COMPREPLY[@]}"
