#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/core/result.h"
#include "engine/model/cluster.h"

namespace sparkplan {

/// A machine as the command line names it: [USER@]HOST[:PORT], an IPv6 address with a port in brackets.
struct HostArgument {
  std::string given;
  std::string user;  ///< Empty: not said.
  std::string address;
  std::uint16_t port = 22;
};

/// Errors: kInvalidInput for what is no host name or address, or no port.
Result<HostArgument> parse_host_argument(std::string_view text);

/// How the machine is reached before there is a cluster.yaml. Its name is for messages.
NodeSpec node_at(const HostArgument& host, const std::string& default_user);

/// The user who runs the program, by his account; "root" where there is none.
std::string login_name();

}  // namespace sparkplan
