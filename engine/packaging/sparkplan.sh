#!/bin/sh
# Starts sparkplan from this directory. A library that this machine lacks is named, with the way to get it.
here=$(dirname -- "$(readlink -f -- "$0")")
program=$here/../lib/sparkplan/sparkplan
# The loader lists the libraries and starts nothing.
case $(LD_TRACE_LOADED_OBJECTS=1 "$program" 2>&1) in
  *GLIBC_*not\ found*) lacks="the C library of this machine is too old: sparkplan needs glibc 2.34 or newer" ;;
  *libssh.so.4*not\ found*) lacks="this machine has no libssh: install the package libssh-4 (on Debian and Ubuntu: sudo apt install libssh-4)" ;;
  *LIBSSH_*not\ found*) lacks="libssh of this machine is too old: sparkplan needs libssh 0.9 or newer" ;;
  *libc.so.6*) exec "$program" "$@" ;;
  *) lacks="this machine cannot start a program for Linux on $(cat -- "$here/../lib/sparkplan/architecture") with glibc" ;;
esac
echo "sparkplan: error: $lacks" >&2
exit 1
