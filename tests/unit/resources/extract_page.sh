#!/usr/bin/env bash
# Writes the files of docs/adding-a-resource-type.md to a folder: each code block after a heading or a line that names a
# file below resources/. The step of a plan.json becomes a step.json beside it.
#   extract_page.sh PAGE FOLDER
set -euo pipefail
rm -rf "$2/resources"
awk -v folder="$2" '
  /^```/ {
    if (inside) { close(target); inside = 0; next }
    inside = 1
    target = name == "" ? "/dev/null" : folder "/" name
    if (name != "") {
      directory = target
      sub(/\/[^\/]*$/, "", directory)
      system("mkdir -p \"" directory "\"")
    }
    name = ""
    next
  }
  inside { print > target; next }
  /^(#|`resources\/|The step in )/ {
    if (!match($0, /`resources\/[^`]*\.[a-z]+`/)) next
    name = substr($0, RSTART + 1, RLENGTH - 2)
    if ($0 ~ /^The step in/) sub(/plan\.json$/, "step.json", name)
  }' "$1"
