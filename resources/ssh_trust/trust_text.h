#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

// The three texts that trust is made of. All of it is pure, and each parse function is the inverse of
// its render function.

namespace sparkplan::ssh_trust {

/// How keys and lines are marked, so that one can tell whose they are: "sparkplan:lab:spark-01".
std::string mark_of(std::string_view cluster, std::string_view node);

/// The node in the mark that the line ends with; empty when it ends with none.
std::string_view node_of_mark(std::string_view line);

/// Our block of an authorized_keys file.
struct AuthorizedLines {
  std::map<std::string, std::string> of_node;  ///< The whole line of each node.
  std::vector<std::string> unexpected;         ///< What we have not put there.
};
AuthorizedLines parse_authorized(std::string_view block);
std::string render_authorized(const AuthorizedLines& lines);

/// `from="ADDRESSES" KEY MARK`. Source: sshd(8), AUTHORIZED_KEYS FILE FORMAT.
std::string authorized_line(const std::set<std::string>& addresses, std::string_view key, std::string_view mark);

/// Our block of ssh_known_hosts: the lines of each node, in order. What has no mark is left out. The texts are
/// somebody else's: those of the block that was parsed.
using KnownHosts = std::map<std::string_view, std::vector<std::string_view>>;
KnownHosts parse_known_hosts(std::string_view block);
std::string render_known_hosts(const KnownHosts& hosts);

/// The first word of a known_hosts line; with a port other than 22 each name also as "[NAME]:PORT", and those that are
/// `shared` with other nodes only so: ssh takes a name without a port for every port.
/// Source: sshd(8), SSH_KNOWN_HOSTS FILE FORMAT; check_host_key() in sshconnect.c.
std::string known_hosts_names(const std::vector<std::string>& names, int port,
                              const std::set<std::string>& shared = {});
/// `NAMES TYPE BASE64 MARK`, with the names as known_hosts_names() gives them.
std::string known_hosts_line(std::string_view names, std::string_view key, std::string_view mark);

/// A place that ssh is to find, by the words that a person may type for it.
struct Destination {
  std::string name;     ///< "spark-02-fabric"; may be empty.
  std::string address;  ///< Where that is; may be typed as well. Empty: ssh is to look the name up.
  int port = 22;

  auto operator<=>(const Destination&) const = default;
};
/// "spark-02-fabric 192.168.100.12 port 2222": one item of the field `config`.
std::string to_text(const Destination& destination);

/// Our whole file below ssh_config.d: for each destination, in that text form, its users.
/// Both functions take any bytes: what is no destination of ours, or no user, is left out.
using SshConfig = std::map<std::string, std::set<std::string>>;
SshConfig parse_config(std::string_view file);
/// Only connections of these users to these destinations are touched, and our key is tried only where
/// a user logs in as himself: as somebody else he has whatever keys he had. Source: ssh_config(5), Match.
std::string render_config(const SshConfig& config);

}  // namespace sparkplan::ssh_trust
