#pragma once

#include <string>
#include <vector>

#include "engine/doctor/examination.h"

namespace sparkplan::test {

/// tests/unit/doctor/captures/NAME: what a machine's files hold and what its programs print.
std::string read_capture(const std::string& name);

/// The same machine as the second one: its names, addresses and ids are other ones.
std::string as_second_node(std::string capture);

/// A machine as examine() gets it. Everything that the agent reads from files and programs goes through the agent's
/// own readers; what it asks the kernel comes from `ip -json` and ibv_devinfo.
struct CapturedNode {
  Facts facts;
  std::vector<ObservedPort> declared;

  /// Points into this object.
  ExaminedNode examined() const;
};
CapturedNode captured_node(const std::string& capture);

}  // namespace sparkplan::test
