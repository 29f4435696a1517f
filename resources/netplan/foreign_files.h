#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/core/value.h"
#include "engine/model/facts.h"
#include "engine/node/node.h"
#include "resources/netplan/netplan_file.h"

namespace sparkplan::netplan {

/// The section of what is no netplan definition but a profile in a file of NetworkManager's own.
inline constexpr const char* kProfiles = "profiles";

/// One definition in a netplan file of somebody else's, or a profile of NetworkManager's.
struct Definition {
  std::string source;   ///< "/etc/netplan/40-cx7.yaml:5"
  std::string section;  ///< "ethernets", "bonds", "bridges" ...
  std::string id;       ///< The key below the section; of a profile for a port, its bond or bridge.
  bool has_match = false;
  std::string match_name;              ///< A glob; empty: any.
  std::string match_mac;               ///< Empty: any.
  std::string match_driver;            ///< A glob; empty: any.
  std::vector<std::string> members;    ///< `interfaces` of a bond or bridge.
  std::string set_name;                ///< What it renames the interface to; empty: nothing.
  std::string parent;                  ///< `link` of a virtual function (SR-IOV); else empty.
  bool has_virtual_functions = false;  ///< It asks for some, or for what only they need (SR-IOV).
  /// NetworkManager's own: it stands beside ours, and one of the two takes the interface. Ubuntu mirrors
  /// each as 90-NM-UUID.yaml. What is no such profile is merged with ours.
  bool is_profile = false;
  bool starts_by_itself = true;  ///< connection.autoconnect of such a profile.
  int priority = 0;              ///< connection.autoconnect-priority of it.
  /// Such a profile for an interface of which nobody has said anything, by DHCP: NetworkManager makes it up by itself
  /// ("Wired connection 1"), and it stays when somebody has so much as looked at it.
  bool generated = false;
  std::string why_not_taken_over = {};  ///< Why we cannot empty it; empty when we can.

  bool operator==(const Definition&) const = default;
};

/// A file that netplan cannot read; while it is there netplan refuses every change.
struct UnreadableFile {
  std::string source;  ///< "/etc/netplan/50-broken.yaml:3"
  std::string message;
};

struct ForeignFiles {
  std::vector<Definition> definitions;
  std::vector<UnreadableFile> unreadable;
  /// The `renderer` of all of them together: of what no definition says otherwise of.
  Renderer renderer = Renderer::kNetworkd;
};

/// All netplan files but ours, as netplan merges them: of two with the same name the one in /run
/// hides the one in /etc, and that the one in /usr/lib or /lib. Where NetworkManager is the renderer,
/// its own profiles for one interface as well. Errors: as NodeReader::read_file().
/// Source: netplan-generate(8).
Result<ForeignFiles> read_foreign_files(const NodeReader& node);

/// The text of a netplan file; one that is masked by a link to a device (/dev/null) is empty.
/// Errors: as NodeReader::read_file(); a file that is gone in between is empty.
Result<std::string> read_netplan_file(const std::string& path, const NodeReader& node);

/// Paths of all netplan files that count, in the order in which netplan reads them.
Result<std::vector<std::string>> merged_files(const NodeReader& node);

/// Netplan files of somebody else's in which one of these interfaces has a definition that we can empty, or in
/// which we have emptied one, whosever it was. Errors: as NodeReader::read_file().
Result<std::vector<std::string>> files_to_share(const std::vector<std::string>& interfaces, const ForeignFiles& foreign,
                                                const NodeReader& node);

/// Pure. A profile in a file of NetworkManager's own beside which ours takes the interface, by its priority: it may
/// stay as it is.
bool gives_way(const Definition& definition);

/// Pure. What one profile of NetworkManager's is by: its name, its priority, and whether it asks for an address by DHCP
/// and gives none. Source: NetworkManager.conf(5), no-auto-default.
bool is_generated_profile(std::string_view name, int priority, bool only_dhcp);

/// Pure. The definitions in one file; empty ones say nothing and are none.
std::vector<Definition> definitions_in(const std::string& path, const Value& tree);

/// Pure. The definitions that say something of this interface: by its name, by a match, as a member of
/// a bond or bridge, as the parent of a virtual function, or by giving it its name. A match on nothing in
/// particular ("match: {}") is one on everything; but a profile of NetworkManager's for any interface, or
/// one that does not start by itself, leaves the interface to ours.
std::vector<Definition> definitions_of(const LinkFacts& link, const std::vector<Definition>& definitions);

/// Pure. The same of an interface by its name, which need not be there.
std::vector<Definition> definitions_of(const std::string& interface, const std::vector<LinkFacts>& links,
                                       const ForeignFiles& foreign);

Value encode(const ForeignFiles& files);
ForeignFiles decode_foreign_files(const Value& value);

}  // namespace sparkplan::netplan
