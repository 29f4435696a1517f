#include "resources/netplan/foreign_files.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <utility>

#include "engine/core/text.h"
#include "engine/core/tree.h"
#include "engine/resource/config_files.h"
#include "resources/netplan/take_over.h"
#include "resources/netplan/taken_away.h"

namespace sparkplan::netplan {
namespace {

/// In order of precedence. Source: netplan-generate(8).
constexpr std::array<std::string_view, 4> kDirectories{"/run/netplan", "/etc/netplan", "/usr/lib/netplan",
                                                       "/lib/netplan"};

/// Each attempt to empty a definition takes two passes over its file. A file of 4 KiB may have 512 definitions.
constexpr std::size_t kMostTried = std::size_t{2} << 20;

/// Names of interfaces have 15 bytes, and those of drivers 55. Source: IFNAMSIZ and MODULE_NAME_LEN of the kernel.
constexpr std::size_t kLongestMatched = 64;

/// `driver` may be one glob or several; one must match. Several become one text with blanks between them.
std::string text_or_joined(const Value& match, std::string_view key) {
  const Value* value = match.find(key);
  if (value == nullptr) return "";
  return value->string() != nullptr ? *value->string() : join(texts_in(value), " ");
}

/// fnmatch() may take the product of both lengths, and a node may list megabytes of globs.
bool matches(const std::string& glob, const std::string& text) {
  return text.size() <= kLongestMatched && ::fnmatch(glob.c_str(), text.c_str(), 0) == 0;
}

bool any_glob_matches(const std::string& globs, const std::string& text) {
  const auto pieces = split(globs, ' ');
  return std::ranges::any_of(pieces, [&](std::string_view glob) { return matches(std::string(glob), text); });
}

/// Whether the profile does not start automatically, or is for any interface with a lower priority than ours.
bool leaves_it_to_ours(const Definition& profile) {
  const bool for_any = profile.match_name.empty() && profile.match_mac.empty() && profile.match_driver.empty();
  return !profile.starts_by_itself || (for_any && profile.priority < kAutoconnectPriority);
}

bool is_ethernet_of(const LinkFacts& link, const Definition& definition) {
  static constexpr std::array<std::string_view, 4> kSections{"ethernets", "wifis", "nm-devices", kProfiles};
  if (std::ranges::find(kSections, definition.section) == kSections.end()) return false;
  if (!definition.has_match) return definition.id == link.name;
  if (definition.is_profile && leaves_it_to_ours(definition)) return false;
  // Without a name or MAC, a Wi-Fi is no fabric interface, and a device mirrored by NetworkManager may be a VPN.
  const bool by_name_or_mac = !definition.match_name.empty() || !definition.match_mac.empty();
  if ((definition.section == "wifis" || definition.section == "nm-devices") && !by_name_or_mac) return false;
  return (definition.match_name.empty() || matches(definition.match_name, link.name)) &&
         (definition.match_mac.empty() || lower_case(definition.match_mac) == lower_case(link.mac)) &&
         (definition.match_driver.empty() || any_glob_matches(definition.match_driver, link.driver));
}

/// DHCP for IPv4, and no address, route or name server that a person would have written.
bool is_only_dhcp(const Value& body) {
  static constexpr std::array<const char*, 6> kWritten{"addresses", "routes",      "gateway4",
                                                       "gateway6",  "nameservers", "routing-policy"};
  static constexpr std::array<std::string_view, 4> kTrue{"true", "yes", "on", "y"};
  return std::ranges::find(kTrue, lower_case(body.text_or("dhcp4", ""))) != kTrue.end() &&
         std::ranges::none_of(kWritten, [&](const char* key) { return body.find(key) != nullptr; });
}

/// Adds the keys that only its NetworkManager settings have, such as "connection.interface-name".
void add_passthrough(const Value& settings, Definition& definition) {
  const Value* passthrough = settings.find("passthrough");
  if (passthrough == nullptr) return;
  definition.starts_by_itself = passthrough->text_or("connection.autoconnect", "true") != "false";
  const std::string priority = passthrough->text_or("connection.autoconnect-priority", "");
  std::from_chars(priority.data(), priority.data() + priority.size(), definition.priority);
  const std::string name = passthrough->text_or("connection.interface-name", "");
  if (definition.match_name.empty() && !name.empty()) {
    definition.has_match = true;
    definition.match_name = name;
  }
  const std::string controller = passthrough->text_or("connection.master", "");
  if (controller.empty() || definition.match_name.empty()) return;
  definition.members = {definition.match_name};
  definition.id = passthrough->text_or("connection.controller", controller);
}

Definition definition_in(const std::string& path, const std::string& section, const MapEntry& entry) {
  const Value& body = entry.value;
  Definition definition;
  definition.source = path + ":" + std::to_string(entry.key_where.line);
  definition.section = section;
  definition.id = entry.key;
  if (const Value* match = body.find("match")) {
    definition.has_match = true;
    definition.match_name = text_or_joined(*match, "name");
    definition.match_mac = text_or_joined(*match, "macaddress");
    definition.match_driver = text_or_joined(*match, "driver");
  }
  definition.members = texts_in(body.find("interfaces"));
  definition.set_name = body.text_or("set-name", "");
  const bool ethernet = section == "ethernets";
  if (ethernet) definition.parent = body.text_or("link", "");
  for (const char* key : {"virtual-function-count", "embedded-switch-mode", "delay-virtual-functions-rebind"}) {
    definition.has_virtual_functions = definition.has_virtual_functions || (ethernet && body.find(key) != nullptr);
  }
  const Value* settings = body.find("networkmanager");
  definition.is_profile = settings != nullptr || definition.id.starts_with("NM-");
  if (settings != nullptr) add_passthrough(*settings, definition);
  // Without a match, the definition is for the interface of that name, and netplan merges it with ours.
  definition.is_profile = definition.is_profile && definition.has_match;
  const std::string name = settings == nullptr ? "" : settings->text_or("name", "");
  definition.generated =
      definition.is_profile && ethernet && is_generated_profile(name, definition.priority, is_only_dhcp(body));
  definition.entries = entries_in(body);
  return definition;
}

/// Why a definition cannot be emptied: sparkplan takes over only settings of one interface by its name. `tried` counts
/// the bytes of the texts in which that was tried.
std::string why_fixed(const std::string& path, const std::string& text, const Value& tree, const Definition& definition,
                      std::size_t& tried) {
  const bool of_one = !definition.has_match || (definition.is_profile && definition.members.empty());
  const bool plain = definition.section == "ethernets" && of_one && definition.set_name.empty() &&
                     definition.parent.empty() && !definition.has_virtual_functions;
  if (!plain) return "only a definition of exactly one interface can be taken over";
  tried += text.size();
  if (tried > kMostTried) return "there are too many definitions in the netplan files, or too large ones";
  return why_not_taken_over(path, text, tree, definition.id);
}

std::string line_of(const std::vector<std::string>& context) {
  for (const std::string& text : context) {
    if (text.rfind("line ", 0) == 0) return ":" + text.substr(5);
  }
  return "";
}

Value encode(const std::vector<UnreadableFile>& files) {
  Value list(Value::List{});
  for (const UnreadableFile& one : files) {
    list.push_back(Value::map({{"source", one.source}, {"message", one.message}}));
  }
  return list;
}

std::vector<UnreadableFile> decode_unreadable(const Value* list) {
  std::vector<UnreadableFile> files;
  for (const Value& one : items_of(list)) files.push_back({one.text_or("source", ""), one.text_or("message", "")});
  return files;
}

/// 0 for a number outside the range of int.
int in_int(std::int64_t number) { return std::in_range<int>(number) ? static_cast<int>(number) : 0; }

}  // namespace

Result<std::vector<std::string>> merged_files(const NodeReader& node) {
  SPARK_TRY(const auto by_name, config_paths(kDirectories, ".yaml", node));
  std::vector<std::string> paths;
  for (const auto& [name, path] : by_name) paths.push_back(path);
  return paths;
}

bool gives_way(const Definition& definition) {
  return definition.section == kProfiles && definition.priority < kAutoconnectPriority && definition.members.empty();
}

bool is_generated_profile(std::string_view name, int priority, bool only_dhcp) {
  constexpr std::string_view kName = "Wired connection ";
  constexpr int kPriorityOfGenerated = -999;
  const bool numbered = name.size() > kName.size() && name.starts_with(kName) &&
                        name.find_first_not_of("0123456789", kName.size()) == std::string_view::npos;
  return only_dhcp && (numbered || priority == kPriorityOfGenerated);
}

std::vector<Definition> definitions_in(const std::string& path, const Value& tree) {
  std::vector<Definition> definitions;
  for (const MapEntry& section : entries_of(tree.find("network"))) {
    for (const MapEntry& entry : entries_of(section.value)) {
      const bool renderer_of_section = entry.key == "renderer" && entry.value.is_string();
      const bool says_nothing =
          section.key == "ethernets" && entry.value.entries() != nullptr && entry.value.entries()->empty();
      if (!renderer_of_section && !says_nothing) definitions.push_back(definition_in(path, section.key, entry));
    }
  }
  return definitions;
}

std::vector<Definition> definitions_of(const LinkFacts& link, const std::vector<Definition>& definitions) {
  const auto says_something = [&](const Definition& definition) {
    const auto& members = definition.members;
    return is_ethernet_of(link, definition) || definition.parent == link.name || definition.set_name == link.name ||
           std::ranges::find(members, link.name) != members.end();
  };
  std::vector<Definition> found;
  std::ranges::copy_if(definitions, std::back_inserter(found), says_something);
  return found;
}

std::vector<Definition> definitions_of(const std::string& interface, const std::vector<LinkFacts>& links,
                                       const ForeignFiles& foreign) {
  const auto link = std::ranges::find(links, interface, &LinkFacts::name);
  if (link != links.end()) return definitions_of(*link, foreign.definitions);
  LinkFacts by_name;
  by_name.name = interface;
  return definitions_of(by_name, foreign.definitions);
}

Result<std::string> read_netplan_file(const std::string& path, const NodeReader& node) {
  Result<std::string> text = node.read_file(path);
  if (text) return text;
  if (text.error().code == ErrorCode::kNotFound) return std::string();  // Removed meanwhile, or a dangling link.
  const auto status = node.status(path);
  const bool masked =
      status && status->kind == FileStatus::Kind::kSymlink && text.error().code == ErrorCode::kUnsupported;
  return masked ? Result<std::string>(std::string()) : text;
}

Result<ForeignFiles> read_foreign_files(const NodeReader& node) {
  SPARK_TRY(const auto paths, merged_files(node));
  ForeignFiles files;
  std::size_t tried = 0;
  for (const std::string& path : paths) {
    if (path == kOwnFile) continue;
    const auto text = read_netplan_file(path, node);
    if (!text) {
      files.unreadable.push_back({path, text.error().message});
      continue;
    }
    const auto tree = parse_yaml(*text);
    if (!tree) {
      const bool is_beyond_limits = tree.error().code == ErrorCode::kUnsupported;
      files.unreadable.push_back({path + line_of(tree.error().context), tree.error().message, is_beyond_limits});
      continue;
    }
    const auto status = node.status(path);
    const bool regular = status && status->kind == FileStatus::Kind::kRegular;
    for (Definition& definition : definitions_in(path, *tree)) {
      definition.why_not_taken_over =
          regular ? why_fixed(path, *text, *tree, definition, tried) : "that file is a link to another one";
      files.definitions.push_back(std::move(definition));
    }
    const Value* network = tree->find("network");
    const auto renderer = renderer_from(network == nullptr ? "" : network->text_or("renderer", ""));
    if (renderer) files.renderer = *renderer;
  }
  if (files.renderer == Renderer::kNetworkManager) {
    SPARK_TRY(auto profiles, profiles_of_one_interface(node, files.unread_profiles));
    for (Definition& profile : profiles) {
      if (!gives_way(profile)) profile.why_not_taken_over = "it is one of NetworkManager's own profiles";
    }
    std::move(profiles.begin(), profiles.end(), std::back_inserter(files.definitions));
  }
  return files;
}

Result<std::vector<std::string>> files_to_share(const std::vector<std::string>& interfaces, const ForeignFiles& foreign,
                                                const NodeReader& node) {
  SPARK_TRY(const auto paths, merged_files(node));
  const std::set<std::string> asked(interfaces.begin(), interfaces.end());
  std::set<std::string> to_be_emptied;
  for (const Definition& one : foreign.definitions) {
    if (!one.why_not_taken_over.empty() || (!one.is_profile && !asked.contains(one.id))) continue;
    to_be_emptied.insert(one.source.substr(0, one.source.rfind(':')));
  }
  std::vector<std::string> shared;
  for (const std::string& path : paths) {
    if (path == kOwnFile) continue;
    SPARK_TRY(const std::string text, read_netplan_file(path, node));
    if (!to_be_emptied.contains(path) && emptied_in(text).empty()) continue;
    const auto tree = parse_yaml(text);
    if (tree && !holds_secrets(*tree)) shared.push_back(path);
  }
  return shared;
}

Value encode(const ForeignFiles& files) {
  Value definitions(Value::List{});
  for (const Definition& one : files.definitions) {
    definitions.push_back(Value::map({{"source", one.source},
                                      {"section", one.section},
                                      {"id", one.id},
                                      {"has_match", one.has_match},
                                      {"match_name", one.match_name},
                                      {"match_mac", one.match_mac},
                                      {"match_driver", one.match_driver},
                                      {"members", list_of_texts(one.members)},
                                      {"set_name", one.set_name},
                                      {"parent", one.parent},
                                      {"has_virtual_functions", one.has_virtual_functions},
                                      {"is_profile", one.is_profile},
                                      {"starts_by_itself", one.starts_by_itself},
                                      {"priority", one.priority},
                                      {"generated", one.generated},
                                      {"why_not_taken_over", one.why_not_taken_over},
                                      {"entries", list_of_texts(one.entries)}}));
  }
  Value value = Value::map({{"definitions", std::move(definitions)},
                            {"unreadable", encode(files.unreadable)},
                            {"renderer", std::string(to_string(files.renderer))}});
  if (!files.unread_profiles.empty()) value.set("unread_profiles", encode(files.unread_profiles));
  return value;
}

ForeignFiles decode_foreign_files(const Value& value) {
  ForeignFiles files;
  for (const Value& one : items_of(value.find("definitions"))) {
    files.definitions.push_back(
        {one.text_or("source", ""), one.text_or("section", ""), one.text_or("id", ""),
         one.boolean_or("has_match", false), one.text_or("match_name", ""), one.text_or("match_mac", ""),
         one.text_or("match_driver", ""), texts_in(one.find("members")), one.text_or("set_name", ""),
         one.text_or("parent", ""), one.boolean_or("has_virtual_functions", false), one.boolean_or("is_profile", false),
         one.boolean_or("starts_by_itself", true), in_int(one.integer_or("priority", 0)),
         one.boolean_or("generated", false), one.text_or("why_not_taken_over", ""), texts_in(one.find("entries"))});
  }
  files.renderer = renderer_from(value.text_or("renderer", "")).value_or(Renderer::kNetworkd);
  files.unreadable = decode_unreadable(value.find("unreadable"));
  files.unread_profiles = decode_unreadable(value.find("unread_profiles"));
  return files;
}

}  // namespace sparkplan::netplan
