#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/model/cluster.h"

/// Names for the fabric addresses of all nodes, in a block of /etc/hosts: `hosts: {suffix: -fabric}`. Everything in
/// this header is pure.
namespace sparkplan::hosts {

inline constexpr std::string_view kHostsFile = "/etc/hosts";
inline constexpr std::string_view kDefaultSuffix = "-fabric";

/// True if a node's name followed by `suffix` is a host name (RFC 1123): letters, digits, "-" and ".", at most 32,
/// ending in a letter or digit. The length of the whole name is not checked. An empty suffix is refused: a node's own
/// name would resolve to its fabric address.
bool is_suffix(std::string_view suffix);

/// name -> address of every node, including nodes in maintenance: the first fabric address, or the management address
/// in a cluster without a fabric. Nodes that have no address for the same reason share a warning. Each name that is
/// too long gets an error.
struct Names {
  std::map<std::string, std::string> addresses;
  std::vector<Diagnostic> diagnostics;
};
Names names_of(const Cluster& cluster, std::string_view suffix);

/// A name and its address on one line.
struct Entry {
  std::string address;
  std::string name;
  int line = 0;  ///< From 1.
};

/// Every name of every line, including aliases. "#" begins a comment; lines without a name are skipped. Source:
/// hosts(5).
std::vector<Entry> parse_hosts(std::string_view text);

/// Our block's lines, sorted by name. parse_hosts() returns the same entries.
std::string render_block(const std::map<std::string, std::string>& addresses);

/// The first line above our block that gives `name` an address of the given family; the resolver uses it. `text` is the
/// whole file. Without a block all of it counts as above, because the block will be appended. The comparison of names
/// ignores case.
std::optional<Entry> claimed_above(std::string_view text, std::string_view name, bool ipv6);

bool is_ipv4(std::string_view address);
bool is_ipv6(std::string_view address);

}  // namespace sparkplan::hosts
