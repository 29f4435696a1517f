#pragma once

#include <string>

namespace sparkplan {

/// elf_build_id() of the running program; empty if it cannot be read.
std::string own_build();

/// The architecture of this machine: "x86_64". Source: uname(2).
std::string machine_architecture();

}  // namespace sparkplan
