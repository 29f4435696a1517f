#pragma once

#include <string>
#include <vector>

#include "engine/doctor/examination.h"

namespace sparkplan::test {

/// tests/unit/doctor/captures/NAME: the contents of a machine's files and the output of its programs.
std::string read_capture(const std::string& name);

/// A copy of the machine as the second node, with different names, addresses and ids.
std::string as_second_node(std::string capture);

/// A machine as input of examine(). The agent's own readers read its files and programs. Facts from the kernel come
/// from `ip -json` and ibv_devinfo.
struct CapturedNode {
  std::string name;  ///< In cluster.yaml.
  Facts facts;
  std::vector<ObservedPort> declared;

  /// Points into this object.
  ExaminedNode examined() const;
};
CapturedNode captured_node(const std::string& capture);

}  // namespace sparkplan::test
