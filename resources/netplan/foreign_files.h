#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/core/value.h"
#include "engine/model/facts.h"
#include "engine/node/node.h"
#include "resources/netplan/netplan_file.h"

namespace sparkplan::netplan {

/// The `section` of a Definition that NetworkManager's own files contain, outside netplan: a profile.
inline constexpr const char* kProfiles = "profiles";

/// A definition in a foreign netplan file, or a profile of NetworkManager.
struct Definition {
  std::string source;   ///< "/etc/netplan/40-cx7.yaml:5"
  std::string section;  ///< "ethernets", "bonds", "bridges" ...
  std::string id;       ///< The key below the section, or the profile's id. For a port: its bond or bridge.
  bool has_match = false;
  std::string match_name;              ///< A glob; empty: any.
  std::string match_mac;               ///< Empty: any.
  std::string match_driver;            ///< A glob; empty: any.
  std::vector<std::string> members;    ///< `interfaces` of a bond or bridge.
  std::string set_name;                ///< The new name of the interface; empty: not renamed.
  std::string parent;                  ///< `link` of a virtual function (SR-IOV); else empty.
  bool has_virtual_functions = false;  ///< It has keys for virtual functions (SR-IOV).
  /// A profile of NetworkManager: only one profile is active on an interface, this one or ours. Ubuntu mirrors each as
  /// 90-NM-UUID.yaml. netplan merges all other definitions with ours.
  bool is_profile = false;
  bool starts_by_itself = true;  ///< connection.autoconnect of the profile.
  int priority = 0;              ///< connection.autoconnect-priority of the profile.
  /// A DHCP profile that NetworkManager generated for an interface without one ("Wired connection 1"). It becomes
  /// permanent as soon as a settings tool opens it.
  bool generated = false;
  std::string why_not_taken_over = {};  ///< Why sparkplan cannot empty it; empty if it can.
  /// The addresses, routes and name servers that it sets: see resources/netplan/taken_away.h.
  std::vector<std::string> entries = {};

  bool operator==(const Definition&) const = default;
};

/// A file that netplan cannot read. While it exists, netplan refuses every change.
struct UnreadableFile {
  std::string source;  ///< "/etc/netplan/50-broken.yaml:3"
  std::string message;
  bool is_beyond_limits = false;  ///< Of parse_yaml(). netplan may read it. Not in the Value that a node exports.
};

struct ForeignFiles {
  std::vector<Definition> definitions;
  std::vector<UnreadableFile> unreadable;
  std::vector<UnreadableFile> unread_profiles;  ///< Profiles of NetworkManager; netplan does not read them.
  /// The `renderer` of all files together, for interfaces whose definition names none.
  Renderer renderer = Renderer::kNetworkd;
};

/// All netplan files except ours, as netplan merges them. Of files with the same name, the one in /run hides the one in
/// /etc, which hides those in /usr/lib and /lib. If NetworkManager is the renderer, also profiles_of_one_interface().
/// Errors: as NodeReader::list_directory(); unreadable files are listed instead.
/// Source: netplan-generate(8).
Result<ForeignFiles> read_foreign_files(const NodeReader& node);

/// The text of a netplan file. Empty for a file masked by a link to a device (/dev/null), and for a missing file.
/// Errors: as NodeReader::read_file().
Result<std::string> read_netplan_file(const std::string& path, const NodeReader& node);

/// Paths of all effective netplan files, in the order in which netplan reads them.
/// Errors: as NodeReader::list_directory().
Result<std::vector<std::string>> merged_files(const NodeReader& node);

/// Foreign netplan files with a definition that sparkplan can empty, for one of these interfaces or a profile. Also
/// those in which it has emptied one for any interface. Files with secrets are left out.
/// Errors: as NodeReader::read_file().
Result<std::vector<std::string>> files_to_share(const std::vector<std::string>& interfaces, const ForeignFiles& foreign,
                                                const NodeReader& node);

/// Pure. Whether our profile wins by priority over this one in NetworkManager's own files. It can then stay unchanged.
bool gives_way(const Definition& definition);

/// Pure. Whether NetworkManager generated the profile, by its name, its priority, and whether it only asks for an
/// address by DHCP. Source: NetworkManager.conf(5), no-auto-default.
bool is_generated_profile(std::string_view name, int priority, bool only_dhcp);

/// Pure. The definitions in one file; empty ones below `ethernets` are left out.
std::vector<Definition> definitions_in(const std::string& path, const Value& tree);

/// Pure. The definitions that concern this interface: by name, by match, as a member of a bond or bridge, as the parent
/// of a virtual function, or by renaming to it. An empty match ("match: {}") matches every interface. Two kinds of
/// NetworkManager profiles leave the interface to ours: those for any interface with a lower priority, and those that
/// do not start automatically.
std::vector<Definition> definitions_of(const LinkFacts& link, const std::vector<Definition>& definitions);

/// Pure. The same for an interface by its name; the interface may be missing.
std::vector<Definition> definitions_of(const std::string& interface, const std::vector<LinkFacts>& links,
                                       const ForeignFiles& foreign);

/// The Value that a node exports, and the files from it. Missing or wrong fields become empty.
Value encode(const ForeignFiles& files);
ForeignFiles decode_foreign_files(const Value& value);

/// Pure. A profile of NetworkManager as a definition of the interfaces that it would take when they appear.
/// Source: nm-settings-keyfile(5).
Definition profile_in(const std::string& path, std::string_view keyfile);

/// The persistent Ethernet profiles of NetworkManager that no netplan file has made and that start automatically. Each
/// is for one interface, or for any interface with at least our priority: it would win at boot. `unread` receives those
/// that cannot be read. Errors: as NodeReader::list_directory().
Result<std::vector<Definition>> profiles_of_one_interface(const NodeReader& node, std::vector<UnreadableFile>& unread);

}  // namespace sparkplan::netplan
