#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/value.h"
#include "engine/model/cluster.h"
#include "engine/resource/resource_type.h"

/// Names for the fabric addresses of all nodes, in a block of /etc/hosts: `hosts: {suffix: -fabric}`.
/// Everything in this header is pure but the type itself.
namespace sparkplan::hosts {

inline constexpr std::string_view kHostsFile = "/etc/hosts";
inline constexpr std::string_view kDefaultSuffix = "-fabric";

/// True when a node's name stays a host name with `suffix` behind it (RFC 1123): letters, digits,
/// "-" and ".", at most 32, ending in a letter or digit; never empty, or a node's own name would
/// come to mean its fabric address.
bool is_suffix(std::string_view suffix);

/// name -> address of every member, maintenance included, and a warning for each that has none:
/// the node's first fabric address, or its management address in a cluster without a fabric.
struct Names {
  std::map<std::string, std::string> addresses;
  std::vector<Diagnostic> diagnostics;
};
Names names_of(const Cluster& cluster, std::string_view suffix);

/// One name that a line gives to an address.
struct Entry {
  std::string address;
  std::string name;
  int line = 0;  ///< From 1.
};

/// Every name of every line, aliases too. Comments begin at "#"; lines without a name are skipped.
/// Source: hosts(5).
std::vector<Entry> parse_hosts(std::string_view text);

/// Our block's lines, sorted by name: parse_hosts() gives back every entry.
std::string render_block(const std::map<std::string, std::string>& addresses);

/// The first line above our block that gives `name` an address of the family wanted: the resolver
/// stops there. `text` is the whole file; without a block all of it is above, because the block
/// will be appended. Names are compared without case.
std::optional<Entry> claimed_above(std::string_view text, std::string_view name, bool ipv6);

bool is_ipv4(std::string_view address);
bool is_ipv6(std::string_view address);

std::unique_ptr<const ResourceType> make_resource_type(std::string schema_json);

}  // namespace sparkplan::hosts
