# bash completion of sparkplan, made by: sparkplan completion bash

_sparkplan_files() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -f -- "$1")
}

_sparkplan_words() {
  mapfile -t COMPREPLY < <(compgen -W "$2" -- "$1")
}

_sparkplan() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command='' own='' i
  COMPREPLY=()
  # "--option=value" arrives as three words.
  if [[ $current == = ]]; then
    current=''
  elif [[ $before == = ]]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  # The command is the first word that is neither an option nor the value of one.
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${COMP_WORDS[i]} in
      --log-file | --workers | --timeout)
        [[ ${COMP_WORDS[i + 1]} != = ]] || ((i++))
        ((i++))
        ;;
      -* | =) ;;
      *)
        command=${COMP_WORDS[i]}
        break
        ;;
    esac
  done
  case "$command $before" in
    *\ --log-file | init\ -o | init\ --output | plan\ -o | plan\ --output | show\ --allowed-signers | apply\ --allowed-signers | drift\ --textfile | verify\ --junit | history\ -f | history\ --file | rollback\ -f | rollback\ --file | unlock\ -f | unlock\ --file | release\ -f | release\ --file | trust\ -f | trust\ --file | facts\ -f | facts\ --file) _sparkplan_files "$current"; return ;;
    *\ --workers | *\ --timeout | plan\ --only | plan\ --exclude | show\ --signed-by | apply\ --confirm-timeout | apply\ --max-parallel | apply\ --lock-timeout | apply\ --signed-by | apply\ --only | apply\ --exclude | drift\ --splay | drift\ --only | drift\ --exclude | verify\ --level | verify\ --only | rollback\ --confirm-timeout | rollback\ --max-parallel | rollback\ --lock-timeout | release\ --confirm-timeout | release\ --max-parallel | release\ --lock-timeout | export\ --format) return ;;
  esac
  if [[ $current != -* ]]; then
    case $command in
      '') _sparkplan_words "$current" 'init validate plan show apply drift verify doctor history rollback unlock release trust status facts export completion schema types version' ;;
      validate) _sparkplan_files "$current" ;;
      plan) _sparkplan_files "$current" ;;
      apply) _sparkplan_files "$current" ;;
      drift) _sparkplan_files "$current" ;;
      verify) _sparkplan_files "$current" ;;
      doctor) _sparkplan_files "$current" ;;
      status) _sparkplan_files "$current" ;;
      export) _sparkplan_files "$current" ;;
      completion) _sparkplan_words "$current" 'bash zsh fish' ;;
    esac
    return
  fi
  case $command in
    init) own='--discover -o --output' ;;
    validate) own='--json' ;;
    plan) own='-o --output --json --yes-prune --detailed-exitcode --only --exclude' ;;
    show) own='--json --signed-by --allowed-signers' ;;
    apply) own='--yes --yes-prune --all-or-nothing --confirm-timeout --allow-mgmt-change --no-safety-net --max-parallel --lock-timeout --signed-by --allowed-signers --verify --json --only --exclude' ;;
    drift) own='--json --syslog --textfile --splay --pending --only --exclude' ;;
    verify) own='--level --json --junit --only' ;;
    doctor) own='--json' ;;
    history) own='-f --file --json' ;;
    rollback) own='-f --file --yes --confirm-timeout --allow-mgmt-change --no-safety-net --max-parallel --lock-timeout' ;;
    unlock) own='-f --file --yes' ;;
    release) own='-f --file --yes --confirm-timeout --allow-mgmt-change --no-safety-net --max-parallel --lock-timeout' ;;
    trust) own='-f --file --yes' ;;
    facts) own='-f --file --json' ;;
    export) own='--format' ;;
  esac
  _sparkplan_words "$current" "$own -h --help -v --verbose -q --quiet --no-color --log-file --workers --timeout --ask-become-pass"
}

complete -F _sparkplan sparkplan
