#pragma once

#include "engine/model/host_facts.h"
#include "engine/node/node.h"

namespace sparkplan {

/// What files say of the machine itself: DMI, memory, kernel and GPU driver, NVMe's names, host keys of sshd. Of a
/// node that is not live only what is kept in files. What cannot be read is told in HostFacts::unreadable.
void read_machine(const NodeReader& node, HostFacts& facts);

/// Pure. "04/02/2026", as DMI has it, as "2026-04-02"; any other text as it is.
std::string iso_date(const std::string& dmi_date);

/// Pure. The key of a line of a .pub file; an empty fingerprint where it is none.
HostKeyFacts host_key_in(std::string_view public_key_line);

}  // namespace sparkplan
