#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

// The three texts that implement trust. Everything here is pure, and each parse function is the inverse of its render
// function.

namespace sparkplan::ssh_trust {

/// The mark of our keys and lines. It names cluster and node: "sparkplan:lab:spark-01".
std::string mark_of(std::string_view cluster, std::string_view node);

/// The node in the mark at the line's end; empty without a mark.
std::string_view node_of_mark(std::string_view line);

/// Our block of an authorized_keys file.
struct AuthorizedLines {
  std::map<std::string, std::string> of_node;  ///< The whole line of each node.
  std::vector<std::string> unexpected;         ///< Lines that sparkplan did not write.
};
AuthorizedLines parse_authorized(std::string_view block);
std::string render_authorized(const AuthorizedLines& lines);

/// `from="ADDRESSES" KEY MARK`. Source: sshd(8), AUTHORIZED_KEYS FILE FORMAT.
std::string authorized_line(const std::set<std::string>& addresses, std::string_view key, std::string_view mark);

/// Our block of ssh_known_hosts: the lines of each node, in order. Lines without a mark are skipped. The texts are
/// views into the parsed block.
using KnownHosts = std::map<std::string_view, std::vector<std::string_view>>;
KnownHosts parse_known_hosts(std::string_view block);
std::string render_known_hosts(const KnownHosts& hosts);

/// The first word of a known_hosts line. With a port other than 22, each name is also listed as "[NAME]:PORT". Names
/// `shared` with other nodes are then listed only in that form, because ssh accepts a name without a port for every
/// port. Source: sshd(8), SSH_KNOWN_HOSTS FILE FORMAT; check_host_key() in sshconnect.c.
std::string known_hosts_names(const std::vector<std::string>& names, int port,
                              const std::set<std::string>& shared = {});
/// `NAMES TYPE BASE64 MARK`, with the names from known_hosts_names().
std::string known_hosts_line(std::string_view names, std::string_view key, std::string_view mark);

/// A host that ssh connects to, with the names that users may type for it.
struct Destination {
  std::string name;     ///< "spark-02-fabric"; may be empty.
  std::string address;  ///< May be typed as well. Empty: ssh resolves the name.
  int port = 22;

  auto operator<=>(const Destination&) const = default;
};
/// "spark-02-fabric 192.168.100.12 port 2222": one item of the field `config`.
std::string to_text(const Destination& destination);

/// Our file below ssh_config.d: for each destination, as to_text() writes it, its users. Both functions accept any
/// bytes and skip destinations and users that we never write.
using SshConfig = std::map<std::string, std::set<std::string>>;
SshConfig parse_config(std::string_view file);
/// The file affects only connections of these users to these destinations. Our key is used only if the login name is
/// the local user's own; for other login names, ssh uses its usual keys. Source: ssh_config(5), Match.
std::string render_config(const SshConfig& config);

/// False for a name without a dot: it may be an alias of the controller's ~/.ssh/config, which no node can resolve. The
/// names of its node then mean what the other nodes' own files say.
bool means_one_machine(std::string_view address);

}  // namespace sparkplan::ssh_trust
