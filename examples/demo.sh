#!/usr/bin/env bash
# Runs sparkplan on two machines of the project's lab, or on two directories if the lab cannot run.
# Installs and builds what is missing first.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

export SPARKPLAN_LAB=demo
work=build/demo
log=$work/log
unexpected=0
complete=
preparing=
rm -rf "$work"
mkdir -p "$work"

# The first line names the mode, so the lab's few packages are installed before it, silently.
tests/install-dependencies.sh lab >"$log" 2>&1
if reason=$(tests/lab/lab.sh check 2>>"$log"); then mode=lab; else mode=embedded; fi
if [ "$mode" = lab ]; then echo "mode: lab"; else echo "mode: embedded ($reason)"; fi

quietly() { # WHAT COMMAND...
  echo "# $1 ..."
  shift
  "$@" >>"$log" 2>&1 || {
    [ -z "$preparing" ] || kill "$preparing" 2>/dev/null
    tail -n 40 "$log"
    echo "demo: failed: $*" >&2
    exit 1
  }
}

show() { # EXPECTED-EXIT COMMAND...: as a user would see it
  local expected=$1 status
  shift
  printf '\n$ %s\n' "$*"
  "$@"
  status=$?
  echo "exit $status"
  [ "$status" -eq "$expected" ] || {
    echo "demo: expected exit $expected" >&2
    unexpected=1
  }
}

finish() {
  [ "$mode" = lab ] && tests/lab/lab.sh down >>"$log" 2>&1
  [ "$unexpected" -eq 0 ] || exit 1
  [ "$complete" ] || return
  [ "$preset" = release ] ||
    printf '\n%s: %s\n' "This $program is hardly optimised and has the agent for $(uname -m) only; for build/bin/sparkplan with both agents" \
      "tests/install-dependencies.sh cross && cmake --preset release && cmake --build --preset release"
}

quietly "installing what is missing" tests/install-dependencies.sh build
# The first time, the machines' file system is made from packages: it waits for the network while the compiler works.
if [ "$mode" = lab ]; then
  tests/lab/lab.sh prepare >>"$work/prepare.log" 2>&1 &
  preparing=$!
fi
# If the program has been built, it is brought up to date. Otherwise the build is the one that takes the least time: hardly
# optimised, without tests, with this machine's agent only.
preset=release program=build/bin/sparkplan options=()
if [ ! -x "$program" ]; then
  preset=quick program=build/quick/bin/sparkplan options=(-D "SPARKPLAN_AGENT_ARCHITECTURES=$(uname -m)")
fi
quietly "configuring" cmake --preset "$preset" "${options[@]}"
quietly "building (a few minutes the first time)" cmake --build --preset "$preset" --target sparkplan

if [ "$mode" = lab ]; then
  trap finish EXIT
  wait "$preparing"
  quietly "booting two machines" tests/lab/lab.sh up 2
  home=$(tests/lab/lab.sh home)
  sparkplan() { HOME=$home tests/lab/lab.sh controller -- "$program" "$@"; }
  ssh() { tests/lab/lab.sh ssh "operator@${1#spark-0}" -- "${@:2}"; }
  cat >"$work/cluster.yaml" <<'YAML'
version: 1
name: demo
ssh: {user: operator}
sysctl:
  net.core.somaxconn: 8192
  net.ipv4.tcp_rmem: 4096 131072 16777216
profile_env:
  HF_HOME: /mnt/models/hf
hosts: {suffix: -fabric}
nodes:
  - {name: spark-01, address: 10.77.0.1}
  - {name: spark-02, address: 10.77.0.2}
YAML
  break_something() { show 0 ssh spark-01 sudo sysctl -w net.core.somaxconn=128; }
else
  sparkplan() { "$program" "$@"; }
  for node in spark-01 spark-02; do
    mkdir -p "$work/$node/etc/sysctl.d"
    printf '127.0.0.1 localhost\n127.0.1.1 %s\n' "$node" >"$work/$node/etc/hosts"
    echo "$node" >"$work/$node/etc/hostname"
  done
  cat >"$work/cluster.yaml" <<YAML
version: 1
name: demo
sysctl:
  net.core.somaxconn: 8192
profile_env:
  HF_HOME: /mnt/models/hf
nodes:
  - {name: spark-01, transport: local, root: $PWD/$work/spark-01}
  - {name: spark-02, transport: local, root: $PWD/$work/spark-02}
YAML
  break_something() { show 0 sed -i s/8192/128/ "$work/spark-01/etc/sysctl.d/90-sparkplan.conf"; }
fi

export SPARKPLAN_CLUSTER=$work/cluster.yaml
printf '\n$ cat cluster.yaml\n'
cat "$SPARKPLAN_CLUSTER"
show 0 sparkplan validate
show 0 sparkplan plan
show 0 sparkplan apply --yes
show 0 sparkplan plan --detailed-exitcode
echo
echo "# A person edits a node by hand ..."
break_something
show 2 sparkplan drift
show 0 sparkplan apply --yes
show 0 sparkplan drift
complete=yes
[ "$mode" = lab ] || finish
