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
  std::string user;  ///< Empty: not given.
  std::string address;
  std::uint16_t port = 22;
  bool port_given = false;
  bool announced = false;  ///< The user did not write it: the machine itself announced it.
};

/// Errors: kInvalidInput for an invalid host name, address or port.
Result<HostArgument> parse_host_argument(std::string_view text);

/// The connection settings of a machine before there is a cluster.yaml. Its name is for messages.
NodeSpec node_at(const HostArgument& host, const std::string& default_user);

/// The account name of the user who runs the program; "root" without an account.
std::string login_name();

}  // namespace sparkplan
