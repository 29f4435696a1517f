# bash --norc offers.bash SCRIPT DIRECTORY LINE...: what bash offers at the end of each line, one to a line. A line with
# the character 0x1e ends the offers of each.
# shellcheck shell=bash source=/dev/null
source "$1" || exit 1
cd "$2" || exit 1
function=$(complete -p sparkplan | sed -n 's/.* -F \([^ ]*\) sparkplan$/\1/p')
[[ -n $function ]] || exit 1
for line in "${@:3}"; do
  # As readline does it, to which "=" is a word.
  read -ra COMP_WORDS <<<"${line//=/ = }"
  [[ $line != *' ' ]] || COMP_WORDS+=('')
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_LINE=$line COMP_POINT=${#line} COMPREPLY=()
  "$function" sparkplan "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
  ((${#COMPREPLY[@]} == 0)) || printf '%s\n' "${COMPREPLY[@]}"
  printf '\x1e\n'
done
