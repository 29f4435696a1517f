# zsh -f offers.zsh SCRIPT DIRECTORY LINE...: what zsh offers at the end of each line, one to a line. A line with the
# character 0x1e ends the offers of each.
# A SCRIPT called _sparkplan is found in $fpath, as an installed one is; any other is sourced.
# Completion works at a prompt only; so a second zsh gets a terminal, and its compadd writes down.
zmodload zsh/zpty zsh/zselect || exit 1
offers=$(mktemp) || exit 1
trap 'zpty -d shell 2>/dev/null; rm -f $offers $offers.setup' EXIT
cat >$offers.setup <<'SETUP'
PS1= PS2= RPS1=
# A displayed list could ask a question, which would take the next line's first key.
unsetopt auto_list auto_menu
bindkey -e
[[ ${script:t} != _sparkplan ]] || fpath=(${script:h} $fpath)
autoload -Uz compinit && compinit -D -u
[[ ${script:t} == _sparkplan ]] || source $script || print -r failed >>$offers
cd $directory
compadd() {
  local -a found
  # With -A, -O or -D it offers nothing.
  if [[ ${@[1,(i)(-|--)]} != *-(A|D|O)\ * ]]; then
    builtin compadd -A found "$@"
    print -rl -- $found >>$offers
  fi
  builtin compadd "$@"
}
note() { _main_complete; print -r done >>$offers }
zle -C note complete-word note
bindkey '^I' note
SETUP
zpty shell zsh -f -i
zpty -w shell "script=${(q)1} directory=${(q)2} offers=${(q)offers}; source ${(q)offers}.setup; print -r rea''dy"
zpty -r -m shell seen '*ready*'
[[ ! -s $offers ]] || { print -ru2 'the script cannot be sourced'; exit 1 }
for line in "${@:3}"; do
  : >$offers
  # Ctrl-U removes what is left of the line before.
  zpty -w -n shell $'\C-u'$line$'\t'
  deadline=$((SECONDS + 30))
  while ((SECONDS < deadline)) && ! grep -qx done $offers; do
    zpty -r -t shell seen
    zselect -t 1
  done
  grep -qx done $offers || { print -ru2 "zsh did not complete: $line"; exit 1 }
  grep -vx done $offers | sed '/^$/d'
  print -r -- $'\x1e'
done
exit 0
