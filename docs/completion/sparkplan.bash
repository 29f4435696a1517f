# bash completion of sparkplan, made by: sparkplan completion bash

_sparkplan_files() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -f -- "$1")
}

# Saved plans, which their content shows: where the typed path leads, and below plans/.
_sparkplan_plans() {
  local path begin paths=("$1"*)
  compopt -o filenames 2>/dev/null
  [[ $1 == */* ]] || paths+=(plans/*)
  for path in "${paths[@]}"; do
    [[ $path == "$1"* && -f $path && -r $path ]] || continue
    IFS= read -r -d '' -n 64 begin <"$path"
    [[ $begin != *'"sparkplan_plan"'* ]] || COMPREPLY+=("$path")
  done
}

_sparkplan_words() {
  mapfile -t COMPREPLY < <(compgen -W "$2" -- "$1")
}

# The nodes of the file that the command reads; in a list, the one after the last comma.
_sparkplan_nodes() {
  local file='' begun='' nodes i
  for ((i = 1; i + 1 < COMP_CWORD; i++)); do
    [[ ${COMP_WORDS[i]} == -f || ${COMP_WORDS[i]} == --file ]] || continue
    [[ ${COMP_WORDS[i + 1]} != = ]] || ((i++))
    file=${COMP_WORDS[i + 1]/#\~/$HOME}
  done
  [[ $1 != *,* ]] || begun=${1%,*},
  nodes=$("${COMP_WORDS[0]}" export --format ssh-config ${file:+-f "$file"} 2>/dev/null |
    sed -n 's/^Host \([^ ]*\).*/\1/p')
  mapfile -t COMPREPLY < <(compgen -P "$begun" -W "$nodes" -- "${1##*,}")
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
      -f | --file | --log-file | --workers | --timeout)
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
    *\ -f | *\ --file | *\ --log-file | init\ -o | init\ --output | plan\ -o | plan\ --output | plan\ --report | show\ --allowed-signers | apply\ --allowed-signers | drift\ --textfile | verify\ --junit | verify\ --report | verify\ --library | doctor\ --report | tune\ -o | tune\ --output | tune\ --report | exec\ --output-dir | run\ --output-dir) _sparkplan_files "$current"; return ;;
    plan\ --only | plan\ --exclude | apply\ --only | apply\ --exclude | drift\ --only | drift\ --exclude | verify\ --only | doctor\ --only | sync\ --only | export\ --only | export\ --exclude | tune\ --only | exec\ --only | run\ --only) _sparkplan_nodes "$current"; return ;;
    verify\ --level) _sparkplan_words "$current" 'link mtu ssh tcp rdma gpu nccl storage all'; return ;;
    run\ --launcher) _sparkplan_words "$current" 'none torchrun mpirun'; return ;;
    export\ --format) _sparkplan_words "$current" 'ssh-config hostfile torchrun env mpirun vllm ray docker compose ansible slurm prometheus hosts topology svg'; return ;;
    plan\ --format) _sparkplan_words "$current" 'text json markdown'; return ;;
    *\ --workers | *\ --timeout | show\ --signed-by | apply\ --confirm-timeout | apply\ --max-parallel | apply\ --lock-timeout | apply\ --signed-by | drift\ --splay | verify\ --check | verify\ --sizes | verify\ --collectives | verify\ --ranks-per-node | verify\ --image | sync\ --limit | rollback\ --confirm-timeout | rollback\ --max-parallel | rollback\ --lock-timeout | release\ --confirm-timeout | release\ --max-parallel | release\ --lock-timeout | tune\ --budget | exec\ --time-limit | run\ --ranks-per-node | run\ --image | run\ --env | run\ --workdir | run\ --master-port | run\ --time-limit | run\ --grace | run\ --watch) return ;;
  esac
  if [[ $current != -* ]]; then
    case $command in
      '') _sparkplan_words "$current" 'init validate plan show apply drift verify doctor sync history rollback unlock release trust status facts export tune completion help schema types version exec run' ;;
      validate) _sparkplan_files "$current" ;;
      plan) _sparkplan_files "$current" ;;
      show) _sparkplan_plans "$current"; [[ -n ${COMPREPLY[*]} ]] || _sparkplan_files "$current" ;;
      apply) _sparkplan_files "$current"; _sparkplan_plans "$current" ;;
      drift) _sparkplan_files "$current" ;;
      verify) _sparkplan_files "$current" ;;
      doctor) _sparkplan_files "$current" ;;
      history) _sparkplan_nodes "$current" ;;
      rollback) _sparkplan_nodes "$current" ;;
      unlock) _sparkplan_nodes "$current" ;;
      release) _sparkplan_nodes "$current" ;;
      trust) _sparkplan_nodes "$current" ;;
      status) _sparkplan_files "$current" ;;
      facts) _sparkplan_nodes "$current" ;;
      export) _sparkplan_files "$current" ;;
      tune) _sparkplan_files "$current" ;;
      completion) _sparkplan_words "$current" 'bash zsh fish' ;;
      help) _sparkplan_words "$current" 'init validate plan show apply drift verify doctor sync history rollback unlock release trust status facts export tune completion help schema types version exec run' ;;
    esac
    return
  fi
  case $command in
    init) own='--discover -o --output' ;;
    validate) own='--json' ;;
    plan) own='-o --output --json --format --report --yes-prune --detailed-exitcode --only --exclude' ;;
    show) own='--json --signed-by --allowed-signers' ;;
    apply) own='--yes --yes-prune --all-or-nothing --confirm-timeout --allow-mgmt-change --no-safety-net --ignore-jobs --max-parallel --lock-timeout --signed-by --allowed-signers --verify --json --only --exclude' ;;
    drift) own='--json --syslog --textfile --splay --pending --only --exclude' ;;
    verify) own='--level --force --json --junit --report --history --check --sizes --collectives --ranks-per-node --library --image --only' ;;
    doctor) own='--json --report --only' ;;
    sync) own='--yes --dry-run --prune --verify --encrypt --limit --json --only' ;;
    history) own='--json' ;;
    rollback) own='--yes --confirm-timeout --allow-mgmt-change --no-safety-net --ignore-jobs --max-parallel --lock-timeout' ;;
    unlock) own='--yes' ;;
    release) own='--yes --forget --confirm-timeout --allow-mgmt-change --no-safety-net --ignore-jobs --max-parallel --lock-timeout' ;;
    trust) own='--yes' ;;
    status) own='--json' ;;
    facts) own='--json' ;;
    export) own='--format --only --exclude' ;;
    tune) own='--budget --force -o --output --report --json --only' ;;
    exec) own='--output-dir --time-limit --json --only' ;;
    run) own='--ranks-per-node --launcher --image --env --workdir --output-dir --master-port --time-limit --grace --watch --no-preflight --json --only' ;;
  esac
  _sparkplan_words "$current" "$own -h --help --version -f --file -v --verbose -q --quiet --no-color --log-file --workers --timeout --ask-become-pass"
}

complete -F _sparkplan sparkplan
