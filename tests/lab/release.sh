# Hosts of another release than the machine's. lab.sh reads this file for them alone, and two functions here replace
# those of rootfs.sh. They are not in rootfs.sh because each change of that file makes all root file systems again.
# shellcheck shell=bash disable=SC2154  # variables of lab.sh

own_release=$(rootfs_codename)
mapfile -t own_sources < <(rootfs_sources)
readonly own_release own_sources

rootfs_codename() { printf '%s' "$release"; }

# Prints the machine's sources for the other release, as lines of sources.list; nothing if that is a release of another
# distribution. Source: sources.list(5).
rootfs_sources() {
  local distribution
  # shellcheck source=/dev/null
  distribution=$(source /etc/os-release && printf '%s' "$ID")
  [[ ${release_of[$release]} == "$distribution" && -n $own_release && ${#own_sources[@]} -gt 0 ]] || return 0
  awk -v own="$own_release" -v wanted="$release" '
    # The suites are RELEASE, RELEASE-updates, RELEASE-security.
    function is_own(suite) { return suite == own || index(suite, own "-") == 1 }
    function trimmed(text) { gsub(/^[ \t]+|[ \t]+$/, "", text); return text }
    function add(options, name, value) { return options (options == "" ? "" : " ") name "=" value }
    function print_paragraph(    uris, suites, n, m, i, j, options, value) {
      value = trimmed(values["signed-by"])
      options = ""
      if (value ~ /^\/[^ \t]*$/) options = add(options, "signed-by", value)
      value = trimmed(values["architectures"])
      gsub(/[ \t]+/, ",", value)
      if (value != "") options = add(options, "arch", value)
      n = split(values["uris"], uris)
      m = split(values["suites"], suites)
      if ((" " values["types"] " ") ~ /[ \t]deb[ \t]/ && tolower(trimmed(values["enabled"])) !~ /^(no|false)$/)
        for (i = 1; i <= n; i++)
          for (j = 1; j <= m; j++)
            if (is_own(suites[j])) {
              sub(own, wanted, suites[j])
              print "deb " (options == "" ? "" : "[" options "] ") uris[i] " " suites[j] " " trimmed(values["components"])
            }
      delete values
      field = ""
    }
    FNR == 1 { print_paragraph() }
    /^[ \t]*#/ { next }
    FILENAME ~ /\.list$/ {
      place = 2
      if ($2 ~ /^\[/) { while ($place !~ /\]$/ && place < NF) place++; place++ }
      place++
      if ($1 == "deb" && place < NF && is_own($place)) { sub(own, wanted, $place); print }
      next
    }
    /^[ \t]*$/ { print_paragraph(); next }
    /^[ \t]/ { values[field] = values[field] " " $0; next }
    {
      field = tolower($0)
      sub(/[ \t]*:.*/, "", field)
      values[field] = $0
      sub(/^[^:]*:/, "", values[field])
    }
    END { print_paragraph() }' "${own_sources[@]}"
}
