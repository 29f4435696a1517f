#!/usr/bin/env bash
# A cache of a model hub that a tool of the hub has made: npm's package @huggingface/hub, with a server on loopback.
#   cache.sh make CACHE    downloads the made-up model org/tiny into the directory
#   cache.sh check CACHE   lets the tool look for the model there, with a server that has no files
# Exit 77 and one line on standard output: this machine has no npm, or the package cannot be had.
set -euo pipefail

here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
readonly here
readonly verb=${1:?make or check} cache=${2:?a directory}
readonly package=@huggingface/hub@2
work=$(mktemp -d)
server=''
# shellcheck disable=SC2317  # called by the trap
end() {
  [[ -z $server ]] || kill "$server" 2>/dev/null || true
  rm -rf "$work"
}
trap end EXIT

skip() { printf 'hub: %s\n' "$*"; exit 77; }

for program in npm node python3; do
  command -v "$program" >/dev/null || skip "there is no $program"
done
mkdir "$work/packages"
(cd "$work/packages" && timeout 120 npm install --silent --no-audit --no-fund --ignore-scripts "$package" \
  >"$work/log" 2>&1) || skip "npm cannot install $package: $(tail -n 1 "$work/log" | cut -c1-200)"

options=()
[[ $verb == make ]] || options=(--no-files)
python3 "$here/server.py" "$work/port" "${options[@]}" &
server=$!
for ((i = 0; i < 100; i++)); do
  [[ ! -s $work/port ]] || break
  sleep 0.1
done
[[ -s $work/port ]] || { echo "the server does not start" >&2; exit 1; }
# A proxy would not reach this server. The library asks no other one.
env -u HTTP_PROXY -u HTTPS_PROXY -u http_proxy -u https_proxy \
  timeout 60 node "$here/client.mjs" "$work/packages" "http://127.0.0.1:$(<"$work/port")" "$cache"
