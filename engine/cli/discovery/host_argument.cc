#include "engine/cli/discovery/host_argument.h"

#include <algorithm>
#include <utility>

#include "engine/core/ascii.h"
#include "engine/core/number_format.h"
#include "engine/core/text.h"
#include "engine/model/address.h"
#include "engine/process/own_user.h"

namespace sparkplan {
namespace {

bool is_login_name(std::string_view text) {
  return !text.empty() && text.front() != '-' && std::all_of(text.begin(), text.end(), [](char c) {
    return is_alphanumeric(c) || c == '_' || c == '-' || c == '.' || c == '+';
  });
}

tl::unexpected<Error> no_host(std::string_view text, const std::string& why) {
  return failure(ErrorCode::kInvalidInput, "\"" + printable(text) + "\" names no machine: " + why,
                 "write [USER@]HOST[:PORT], such as nvidia@10.0.0.11, spark-01.local or [fe80::1%eth0]:22");
}

/// Removes ":PORT" from the end of the text, if it has one.
Result<std::string_view> take_port(std::string_view text, HostArgument& host) {
  std::string_view rest = text;
  std::string_view port;
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == std::string_view::npos) return no_host(host.given, "a bracket is not closed");
    rest = text.substr(1, end - 1);
    port = text.substr(end + 1);
    if (!port.empty() && port.front() != ':') return no_host(host.given, "only a port may follow the bracket");
  } else if (std::count(text.begin(), text.end(), ':') == 1) {
    rest = text.substr(0, text.find(':'));
    port = text.substr(text.find(':'));
  }
  if (port.empty()) return rest;
  port.remove_prefix(1);
  host.port = parse_number<std::uint16_t>(port).value_or(0);
  if (host.port == 0) return no_host(host.given, "a port is a number from 1 to 65535");
  host.port_given = true;
  return rest;
}

}  // namespace

Result<HostArgument> parse_host_argument(std::string_view text) {
  HostArgument host;
  host.given = std::string(text);
  if (const auto at = text.find('@'); at != std::string_view::npos) {
    host.user = std::string(text.substr(0, at));
    if (!is_login_name(host.user)) return no_host(text, "the part before the @ is not a login name");
    text.remove_prefix(at + 1);
  }
  SPARK_TRY(const std::string_view address, take_port(text, host));
  const auto ipv4 = parse_ipv4(address);
  if (ipv4 && !is_host_address(*ipv4)) return no_host(host.given, "no machine can have that address");
  if (!ipv4 && !is_ipv6(address) && !is_host_name(address)) {
    return no_host(host.given, "that is neither an address nor a host name");
  }
  host.address = std::string(address);
  return host;
}

NodeSpec node_at(const HostArgument& host, const std::string& default_user) {
  std::string name = host.address + (host.port == 22 ? "" : "-" + std::to_string(host.port));
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == ':' || c == '%' || c == '_'; }, '-');
  auto parsed = NodeName::parse(name);
  if (!parsed) parsed = NodeName::parse("h" + name + "h");  // "::1" begins with a character that no name begins with.
  if (!parsed) parsed = NodeName::parse("host");
  NodeSpec node{*std::move(parsed), 0, {}, {}, {}, {}, {}, {}, {}, {}};
  node.address = host.address;
  node.ssh.user = host.user.empty() ? default_user : host.user;
  node.ssh.port = host.port;
  node.ssh.port_given = host.port_given;
  node.ssh.named_by_file = !host.announced;
  return node;
}

std::string login_name() {
  const auto user = own_user();
  return user && !user->name.empty() ? user->name : "root";
}

}  // namespace sparkplan
