#!/usr/bin/env bash
# The Debian package for the other architecture, with its program as controller. It is installed on an emulated lab host.
# There it drafts a cluster file of an emulated node and of a native one, changes both, finds drift and repairs it. One
# line "ok NAME" or "not ok NAME" per check; the last line is "N passed, N failed, N skipped".
#
#   tests/package/other_architecture_test.sh [PACKAGE]     default: cross-builds it (tests/install-dependencies.sh build
#                                                          cross-controller package arm)
# shellcheck disable=SC2317  # functions that "check" calls
# shellcheck disable=SC2016  # expressions that are expanded on a host
set -uo pipefail
# shellcheck source=tests/package/checks.sh
source "$(dirname "$0")/checks.sh"
limited 10800 "$@"
package='' folder=''
[ $# -eq 0 ] || package=$(realpath -e "$1") || exit 1
cd "$(dirname "$0")/../.." || exit 1

readonly lab_checks=12
export SPARKPLAN_LAB=${SPARKPLAN_LAB:-pkgo}
version=$(sed -nE 's/^project\(sparkplan VERSION ([0-9.]+).*/\1/p' CMakeLists.txt)
own=$(uname -m)
# By uname(1): Debian's name, and the machine in an ELF header as readelf prints it.
declare -A debian=([x86_64]=amd64 [aarch64]=arm64) machine=([x86_64]='Advanced Micro Devices X86-64' [aarch64]=AArch64)
if [ "$own" = aarch64 ]; then other=x86_64; else other=aarch64; fi
# shellcheck source=tests/package/host_packages.sh
source tests/package/host_packages.sh
# shellcheck source=/dev/null
release=$(source /etc/os-release && printf '%s' "${VERSION_CODENAME:-}")

machine_is() { # FILE ARCHITECTURE
  same "machine of $1" "$(readelf -h "$1" | sed -n 's/^ *Machine: *//p')" "${machine[$2]}"
}

made() {
  folder=build/release-$other
  cmake -G Ninja -S . -B "$folder" -D CMAKE_BUILD_TYPE=RelWithDebInfo -D "CMAKE_TOOLCHAIN_FILE=$PWD/engine/cmake/toolchain-$other.cmake" \
    -D 'SPARKPLAN_AGENT_ARCHITECTURES=x86_64;aarch64' && cmake --build "$folder" && cpack --config "$folder/CPackConfig.cmake" &&
    package=$PWD/$folder/sparkplan_${version}_${debian[$other]}.deb && [ -s "$package" ]
}

is_for_the_other() {
  same architecture "$(dpkg-deb -f "$package" Architecture)" "${debian[$other]}" && dpkg-deb -x "$package" "$work/unpacked" &&
    machine_is "$work/unpacked/usr/bin/sparkplan" "$other" || return
  local -a programs=("$work/unpacked/usr/bin/sparkplan")
  if [ -n "$folder" ]; then
    python3 engine/packaging/carried.py "${programs[0]}" "$folder" >"$work/programs" || return
    mapfile -t -O 1 programs <"$work/programs"
  fi
  python3 engine/packaging/portability.py "${programs[@]}"
}

fetched() {
  fetch_packages "$root" "$PWD/build/package-dependencies/$release-${debian[$other]}" "${debian[$other]}" "$release" "$package" &&
    cp "$package" "$root/opt/lab/packages/sparkplan.deb"
}

installed() {
  like_any_other "$root"
  on 1 'dpkg -i /opt/lab/packages/*.deb && dpkg-query -W -f "\${db:Status-Status}" sparkplan | grep -qx installed && dpkg -V sparkplan'
}

carries_both_agents() {
  exits 0 "test \"\$(uname -m)\" = $other && sparkplan version >version && grep -qx 'sparkplan $version' version &&
    grep -q '^agent x86_64 ' version && grep -q '^agent aarch64 ' version"
}

drafted() {
  mkdir -p "$root/opt/lab/home" && cp -r "$("$lab" home)/.ssh" "$root/opt/lab/home/" || return
  exits 0 'sparkplan init -o drafted.yaml root@10.77.0.2 root@10.77.0.3' && exits 0 'sparkplan validate drafted.yaml' &&
    exits 0 'grep -q "name: spark-02, address: 10.77.0.2" drafted.yaml && grep -q "name: spark-03, address: 10.77.0.3" drafted.yaml'
}

# `init` may also propose a fabric, and an emulated host has no netplan.
cluster_file() {
  cat >"$root/opt/lab/cluster.yaml" <<'YAML'
version: 1
name: lab
ssh: {user: root}
sysctl: {net.core.somaxconn: 8192}
limits:
  - {domain: operator, item: nofile, value: 5000}
hosts: {suffix: -fabric}
profile_env: {HF_HOME: /mnt/models/hf}
nodes:
  - {name: spark-02, address: 10.77.0.2}
  - {name: spark-03, address: 10.77.0.3}
YAML
}

planned() { exits 2 'sparkplan plan --detailed-exitcode cluster.yaml'; }

each_has_its_agent() {
  machine_is "$("$lab" root 2)/usr/local/libexec/sparkplan/agent" "$other" &&
    machine_is "$("$lab" root 3)/usr/local/libexec/sparkplan/agent" "$own"
}

applied() { exits 0 'sparkplan apply --yes cluster.yaml'; }

in_effect() {
  local node
  for node in 2 3; do
    same "somaxconn of host $node" "$(on "$node" 'sysctl -n net.core.somaxconn')" 8192 &&
      same "limit of host $node" "$(on "$node" 'su -l operator -c "ulimit -Hn"')" 5000 &&
      same "address on host $node" "$(on "$node" 'getent hosts spark-02-fabric | cut -d " " -f 1')" 10.77.0.2 &&
      same "variable of host $node" "$(on "$node" 'su -l operator -c "printenv HF_HOME"')" /mnt/models/hf || return
  done
}

in_sync() { exits 0 'sparkplan plan --detailed-exitcode cluster.yaml' && exits 0 'sparkplan drift cluster.yaml'; }

# Damages each of the four settings on both nodes.
drift_is_reported() {
  local node
  for node in 2 3; do
    on "$node" 'sysctl -q -w net.core.somaxconn=128 && sed -i s/5000/5001/ /etc/security/limits.d/90-sparkplan.conf &&
      sed -i /spark-02-fabric/d /etc/hosts && rm /etc/profile.d/sparkplan-env.sh' || return
  done
  exits 2 'sparkplan drift --json cluster.yaml >drift.json' && python3 - "$root/opt/lab/drift.json" <<'PYTHON'
import json, sys
report = json.load(open(sys.argv[1]))
drift = {change["id"] for node in report["nodes"] for change in node["changes"] if change.get("origin") == "drift"}
wanted = {node + "/" + id for node in ("spark-02", "spark-03")
          for id in ("sysctl/net.core.somaxconn", "limits/operator:nofile", "hosts/spark-02-fabric", "profile_env/HF_HOME")}
missing = sorted(wanted - drift)
print("not reported as drift:", *missing)
sys.exit(1 if missing else 0)
PYTHON
}

repaired() { applied && in_effect && in_sync; }

[ -n "$package" ] || check "the package for $other is built" made || finish
check "its program is for $other and runs on every supported distribution" is_for_the_other || finish
if ! reason=$("$lab" check --arch "$other,$own" 2>&1); then
  skipped=$lab_checks
  printf 'skipped: the checks in the lab: %s\n' "$reason"
  finish
fi
lab_is_ours=yes
check "two hosts of $other and one of $own boot" "$lab" up 3 --arch "$other,$own" || finish
root=$("$lab" root 1)
check "apt finds what the package needs" fetched || finish
check "the package can be installed" installed || finish
check "the program carries both agents" carries_both_agents || finish
check "init drafts a file of a node of each architecture" drafted
cluster_file
check "plan shows changes" planned || finish
check "each node has the agent for its own architecture" each_has_its_agent
check "apply succeeds" applied || finish
check "all settings are in effect on both nodes" in_effect
check "afterwards both nodes are in sync" in_sync
check "drift of all four types is reported on both nodes" drift_is_reported
check "apply repairs the drift" repaired
finish
