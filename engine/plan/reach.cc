#include "engine/plan/reach.h"

#include <utility>

#include "engine/core/text.h"
#include "engine/model/address.h"

namespace sparkplan {
namespace {

constexpr std::uint16_t kUsualPort = 22;

}  // namespace

std::string shown_address(const NodeSpec& node) {
  return node.transport == TransportKind::kLocal ? node.root.string() : node.address;
}

std::vector<std::string> ways_to(const NodeSpec& node) {
  if (node.transport == TransportKind::kLocal) return {"the directory " + printable(node.root.string()) + " (local)"};
  const std::string host = printable(bracketed(node.address));
  std::string first = node.ssh.user.empty() ? host : printable(node.ssh.user) + "@" + host;
  if (node.ssh.port_given || node.ssh.port != kUsualPort) first += ":" + std::to_string(node.ssh.port);
  std::vector<std::string> ways{std::move(first)};
  if (!node.ssh.jump.empty()) ways.push_back("through " + printable(node.ssh.jump));
  if (!node.ssh.identity.empty()) ways.push_back("with the key " + printable(node.ssh.identity));
  if (node.ssh.become == Become::kNone) ways.emplace_back("without sudo");
  if (!node.ssh.host_key.empty()) {
    ways.push_back("host key pinned by the plan");
  } else if (node.ssh.host_keys == HostKeyPolicy::kAcceptNew) {
    ways.emplace_back("accepts an unknown host key");
  }
  return ways;
}

}  // namespace sparkplan
