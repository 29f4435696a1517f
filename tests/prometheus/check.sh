#!/usr/bin/env bash
# Checks the metrics of `sparkplan drift` and the alerting rules with promtool.
#   check.sh SPARKPLAN
# Exit 77 where promtool (package prometheus) is missing.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
sparkplan=$1

command -v promtool >/dev/null || { echo "SKIPPED: there is no promtool (package prometheus)"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# One directory node, which is in sync, drifted or pending, and one node that is unreachable.
mkdir "$scratch/root"
write_cluster() {
  printf 'version: 1\nname: lab\nsysctl: {%s}\nnodes:\n' "$1"
  printf '  - {name: n1, transport: local, root: "%s"}\n' "$scratch/root"
  [[ -z ${2:-} ]] || printf '  - {name: n2, transport: local, root: "%s/missing"}\n' "$scratch"
}
check_metrics() { # EXIT-CODE
  local code=0
  "$sparkplan" drift --quiet "$scratch/cluster.yaml" --textfile "$scratch/sparkplan.prom" >"$scratch/out" 2>&1 || code=$?
  ((code == $1)) || { echo "drift ended with $code instead of $1:"; cat "$scratch/out"; exit 1; }
  # promtool also reports valid metrics with poor style.
  promtool check metrics <"$scratch/sparkplan.prom" >"$scratch/complaints" 2>&1 || echo "exit $?" >>"$scratch/complaints"
  [[ ! -s $scratch/complaints ]] ||
    { echo "promtool does not like:"; cat "$scratch/sparkplan.prom" "$scratch/complaints"; exit 1; }
}

write_cluster 'vm.swappiness: 10' >"$scratch/cluster.yaml"
"$sparkplan" apply --yes --quiet "$scratch/cluster.yaml" >"$scratch/out" 2>&1 || { cat "$scratch/out"; exit 1; }
check_metrics 0
echo 'vm.swappiness = 60' >"$scratch/root/etc/sysctl.d/90-sparkplan.conf"
check_metrics 2
grep -q '^sparkplan_drift{node="n1",type="sysctl"} [1-9]' "$scratch/sparkplan.prom"
write_cluster 'vm.swappiness: 10, vm.overcommit_memory: 1' n2 >"$scratch/cluster.yaml"
check_metrics 4
grep -q '^sparkplan_node_up{node="n2"} 0' "$scratch/sparkplan.prom"

promtool check rules "$here/../../examples/prometheus/sparkplan-alerts.yaml"
promtool test rules "$here/sparkplan-alerts-test.yaml"
