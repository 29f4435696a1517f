#include "resources/netplan/profiles.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <utility>

#include "engine/core/text.h"
#include "resources/netplan/netplan_file.h"

namespace sparkplan::netplan {
namespace {

/// Those in /run are netplan's, or NetworkManager's own of the lowest priority: "Wired connection 1".
/// Source: NetworkManager.conf(5), keyfile.path.
constexpr std::array<std::string_view, 2> kDirectories{"/usr/lib/NetworkManager/system-connections",
                                                       "/etc/NetworkManager/system-connections"};

/// "connection.id" -> its value
using Settings = std::map<std::string, std::string>;

Settings settings_in(std::string_view keyfile) {
  Settings settings;
  std::string group;
  for (const std::string_view whole : split_lines(keyfile)) {
    const std::string_view line = trim(whole);
    if (line.empty() || line.starts_with('#')) continue;
    if (line.starts_with('[') && line.ends_with(']')) {
      group = std::string(line.substr(1, line.size() - 2)) + ".";
      continue;
    }
    const auto equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    settings[group + std::string(trim(line.substr(0, equals)))] = trim(line.substr(equals + 1));
  }
  return settings;
}

/// Groups and keys have older names, too.
std::string first_of(const Settings& settings, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    if (const auto found = settings.find(key); found != settings.end()) return found->second;
  }
  return {};
}

bool is_ethernet(const Settings& settings) {
  const std::string type = first_of(settings, {"connection.type"});
  return type.empty() || type == "ethernet" || type == "802-3-ethernet";
}

/// Neither an address nor a route that somebody would have had to write. Source: nm-settings-keyfile(5).
bool is_only_dhcp(const Settings& settings) {
  const auto written = [](const auto& setting) {
    return setting.first.starts_with("ipv4.address") || setting.first.starts_with("ipv4.route") ||
           setting.first.starts_with("ipv6.address") || setting.first == "ipv4.gateway";
  };
  return first_of(settings, {"ipv4.method"}) == "auto" && std::none_of(settings.begin(), settings.end(), written);
}

}  // namespace

Definition profile_in(const std::string& path, std::string_view keyfile) {
  const Settings settings = settings_in(keyfile);
  Definition profile;
  profile.source = path;
  profile.section = is_ethernet(settings) ? kProfiles : first_of(settings, {"connection.type"});
  profile.id = first_of(settings, {"connection.id"});
  profile.has_match = true;
  profile.is_profile = true;
  profile.match_name = first_of(settings, {"connection.interface-name", "match.interface-name"});
  profile.match_mac = first_of(settings, {"ethernet.mac-address", "802-3-ethernet.mac-address"});
  profile.starts_by_itself = first_of(settings, {"connection.autoconnect"}) != "false";
  const std::string priority = first_of(settings, {"connection.autoconnect-priority"});
  std::from_chars(priority.data(), priority.data() + priority.size(), profile.priority);
  profile.generated = is_generated_profile(profile.id, profile.priority, is_only_dhcp(settings));
  const std::string controller = first_of(settings, {"connection.controller", "connection.master"});
  if (!controller.empty() && !profile.match_name.empty()) {
    profile.members = {profile.match_name};
    profile.id = controller;
  }
  return profile;
}

Result<std::vector<Definition>> profiles_of_one_interface(const NodeReader& node) {
  std::vector<Definition> found;
  for (const std::string_view directory : kDirectories) {
    const auto names = node.list_directory(directory);
    if (!names) {
      if (names.error().code == ErrorCode::kNotFound) continue;
      return failure(names.error());
    }
    for (const std::string& name : *names) {
      const std::string path = std::string(directory) + "/" + name;
      const auto text = node.read_file(path);
      // Gone in between, or what NetworkManager does not read either: a directory, a link to nothing.
      if (!text && (text.error().code == ErrorCode::kNotFound || text.error().code == ErrorCode::kUnsupported))
        continue;
      if (!text) return failure(text.error());
      Definition profile = profile_in(path, *text);
      const bool of_one = !profile.match_name.empty() || !profile.match_mac.empty();
      if (profile.section != kProfiles || !profile.starts_by_itself) continue;
      if (of_one || !gives_way(profile)) found.push_back(std::move(profile));
    }
  }
  return found;
}

}  // namespace sparkplan::netplan
