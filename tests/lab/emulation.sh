# Hosts of another architecture: the kernel runs their programs with qemu's user emulation. The rule is registered only
# while such a lab is up.
# shellcheck shell=bash disable=SC2154  # variables of lab.sh

# By uname -m: Debian's name, and the machine number in an ELF header.
readonly -A debian_name=([x86_64]=amd64 [aarch64]=arm64)
readonly -A elf_machine=([x86_64]='\x3e' [aarch64]='\xb7')

emulated() { [[ $arch != "$(uname -m)" ]]; }

# Debian's name of the hosts' architecture.
debian_arch() {
  if emulated; then printf '%s' "${debian_name[$arch]}"; else dpkg --print-architecture; fi
}

emulator() { printf '/usr/bin/qemu-%s-static' "$arch"; }

# emulation_rule NAME: the binfmt_misc rule. F: qemu is opened at registration, because no host has it in its tree. P:
# programs keep their own name as argv[0], by which a login shell recognises itself. C: sudo stays setuid.
emulation_rule() {
  local zeros='\x00\x00\x00\x00\x00\x00\x00\x00' ones='\xff\xff\xff\xff\xff\xff\xff\xff'
  printf '%s' ":$1:M::\x7fELF\x02\x01\x01\x00$zeros\x02\x00${elf_machine[$arch]}\x00:" \
    "${ones%????}\x00$ones\xfe\xff\xff\xff:$(emulator):POCF"
}

# Uses a mount point of the lab's own, which `down` finds by its name.
emulation_start() {
  emulated || return 0
  mkdir "$state/binfmt"
  mount -t binfmt_misc "$prefix" "$state/binfmt"
  emulation_rule "$prefix" >"$state/binfmt/register"
}

emulation_stop() {
  [[ ! -e $state/binfmt/$prefix ]] || printf '%s' -1 >"$state/binfmt/$prefix"
}

emulation_check() {
  emulated || return 0
  [[ -n ${debian_name[$arch]:-} ]] ||
    { echo "no hosts of the architecture '$arch' (${!debian_name[*]})"; return 1; }
  [[ -x $(emulator) ]] ||
    { echo "missing: $(emulator) (tests/install-dependencies.sh arm)"; return 1; }
  # shellcheck disable=SC2016  # expanded by the inner shell
  unshare --mount --propagation private sh -ec '
    mount -t binfmt_misc binfmt_misc /mnt
    printf %s "$2" >/mnt/register
    printf %s -1 >"/mnt/$1"' check "sparklab-check-$$" "$(emulation_rule "sparklab-check-$$")" 2>/dev/null ||
    { echo "cannot tell the kernel (binfmt_misc) to run programs for $arch with qemu"; return 1; }
}
