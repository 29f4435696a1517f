#include "resources/netplan/foreign_files.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <map>
#include <utility>

#include "engine/core/text.h"
#include "engine/core/text_list.h"
#include "resources/netplan/profiles.h"
#include "resources/netplan/take_over.h"
#include "resources/netplan/yaml_tree.h"

namespace sparkplan::netplan {
namespace {

/// Later ones hide earlier ones of the same file name.
constexpr std::array<std::string_view, 4> kDirectories{"/lib/netplan", "/usr/lib/netplan", "/etc/netplan",
                                                       "/run/netplan"};

/// `driver` may be one glob or several; one that matches is enough, so they become one text of them.
std::string text_or_joined(const Value& match, std::string_view key) {
  const Value* value = match.find(key);
  if (value == nullptr) return "";
  return value->string() != nullptr ? *value->string() : join(texts_in(value), " ");
}

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

bool matches(const std::string& glob, const std::string& text) { return ::fnmatch(glob.c_str(), text.c_str(), 0) == 0; }

bool any_glob_matches(const std::string& globs, const std::string& text) {
  const auto pieces = split(globs, ' ');
  return std::any_of(pieces.begin(), pieces.end(),
                     [&](std::string_view glob) { return matches(std::string(glob), text); });
}

/// Not those that wait to be started, and not those for any interface, of which ours has the priority.
bool leaves_it_to_ours(const Definition& profile) {
  const bool for_any = profile.match_name.empty() && profile.match_mac.empty() && profile.match_driver.empty();
  return !profile.starts_by_itself || (for_any && profile.priority < kAutoconnectPriority);
}

bool is_ethernet_of(const LinkFacts& link, const Definition& definition) {
  static constexpr std::array<std::string_view, 4> kSections{"ethernets", "wifis", "nm-devices", kProfiles};
  if (std::find(kSections.begin(), kSections.end(), definition.section) == kSections.end()) return false;
  if (!definition.has_match) return definition.id == link.name;
  if (definition.is_profile && leaves_it_to_ours(definition)) return false;
  // Any Wi-Fi is no fabric interface, and what NetworkManager mirrors here may be a VPN.
  const bool by_name_or_mac = !definition.match_name.empty() || !definition.match_mac.empty();
  if ((definition.section == "wifis" || definition.section == "nm-devices") && !by_name_or_mac) return false;
  return (definition.match_name.empty() || matches(definition.match_name, link.name)) &&
         (definition.match_mac.empty() || lower_case(definition.match_mac) == lower_case(link.mac)) &&
         (definition.match_driver.empty() || any_glob_matches(definition.match_driver, link.driver));
}

/// Neither an address nor a route nor a name server that somebody would have had to write.
bool is_only_dhcp(const Value& body) {
  static constexpr std::array<const char*, 6> kWritten{"addresses", "routes",      "gateway4",
                                                       "gateway6",  "nameservers", "routing-policy"};
  static constexpr std::array<std::string_view, 4> kTrue{"true", "yes", "on", "y"};
  return std::find(kTrue.begin(), kTrue.end(), lower_case(body.text_or("dhcp4", ""))) != kTrue.end() &&
         std::none_of(kWritten.begin(), kWritten.end(), [&](const char* key) { return body.find(key) != nullptr; });
}

/// What its NetworkManager mirror says besides: a name as "connection.interface-name", for one.
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
  // One without a match is of the interface that it is named after, and merged with ours.
  definition.is_profile = definition.is_profile && definition.has_match;
  const std::string name = settings == nullptr ? "" : settings->text_or("name", "");
  definition.generated =
      definition.is_profile && ethernet && is_generated_profile(name, definition.priority, is_only_dhcp(body));
  return definition;
}

/// What is more than settings of one interface by its name is not ours to take apart.
std::string why_fixed(const std::string& path, const std::string& text, const Value& tree,
                      const Definition& definition) {
  const bool of_one = !definition.has_match || (definition.is_profile && definition.members.empty());
  const bool plain = definition.section == "ethernets" && of_one && definition.set_name.empty() &&
                     definition.parent.empty() && !definition.has_virtual_functions;
  if (!plain) return "only what names one interface and nothing more is taken over";
  return why_not_taken_over(path, text, tree, definition.id);
}

std::string line_of(const std::vector<std::string>& context) {
  for (const std::string& text : context) {
    if (text.rfind("line ", 0) == 0) return ":" + text.substr(5);
  }
  return "";
}

}  // namespace

Result<std::vector<std::string>> merged_files(const NodeReader& node) {
  std::map<std::string, std::string> by_name;
  for (const std::string_view directory : kDirectories) {
    const auto names = node.list_directory(directory);
    if (!names) {
      if (names.error().code == ErrorCode::kNotFound) continue;
      return failure(names.error());
    }
    for (const std::string& name : *names) {
      if (name.ends_with(".yaml") && !name.starts_with('.')) by_name[name] = std::string(directory) + "/" + name;
    }
  }
  std::vector<std::string> paths;
  for (auto& [name, path] : by_name) paths.push_back(std::move(path));
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
  const Value* network = tree.find("network");
  if (network == nullptr || network->entries() == nullptr) return definitions;
  for (const MapEntry& section : *network->entries()) {
    if (section.value.entries() == nullptr) continue;
    for (const MapEntry& entry : *section.value.entries()) {
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
           std::find(members.begin(), members.end(), link.name) != members.end();
  };
  std::vector<Definition> found;
  std::copy_if(definitions.begin(), definitions.end(), std::back_inserter(found), says_something);
  return found;
}

std::vector<Definition> definitions_of(const std::string& interface, const std::vector<LinkFacts>& links,
                                       const ForeignFiles& foreign) {
  const auto link =
      std::find_if(links.begin(), links.end(), [&](const LinkFacts& one) { return one.name == interface; });
  if (link != links.end()) return definitions_of(*link, foreign.definitions);
  LinkFacts by_name;
  by_name.name = interface;
  return definitions_of(by_name, foreign.definitions);
}

Result<std::string> read_netplan_file(const std::string& path, const NodeReader& node) {
  Result<std::string> text = node.read_file(path);
  if (text) return text;
  if (text.error().code == ErrorCode::kNotFound) return std::string();  // Gone in between, or a dangling link.
  const auto status = node.status(path);
  const bool masked =
      status && status->kind == FileStatus::Kind::kSymlink && text.error().code == ErrorCode::kUnsupported;
  return masked ? Result<std::string>(std::string()) : text;
}

Result<ForeignFiles> read_foreign_files(const NodeReader& node) {
  SPARK_TRY(const auto paths, merged_files(node));
  ForeignFiles files;
  for (const std::string& path : paths) {
    if (path == kOwnFile) continue;
    const auto text = read_netplan_file(path, node);
    if (!text) {
      files.unreadable.push_back({path, text.error().message});
      continue;
    }
    const auto tree = parse_yaml(*text);
    if (!tree) {
      files.unreadable.push_back({path + line_of(tree.error().context), tree.error().message});
      continue;
    }
    const auto status = node.status(path);
    const bool regular = status && status->kind == FileStatus::Kind::kRegular;
    for (Definition& definition : definitions_in(path, *tree)) {
      definition.why_not_taken_over =
          regular ? why_fixed(path, *text, *tree, definition) : "that file is a link to another one";
      files.definitions.push_back(std::move(definition));
    }
    const Value* network = tree->find("network");
    const auto renderer = renderer_from(network == nullptr ? "" : network->text_or("renderer", ""));
    if (renderer) files.renderer = *renderer;
  }
  if (files.renderer == Renderer::kNetworkManager) {
    SPARK_TRY(auto profiles, profiles_of_one_interface(node));
    for (Definition& profile : profiles) {
      if (!gives_way(profile)) profile.why_not_taken_over = "profiles of NetworkManager's own are not";
    }
    std::move(profiles.begin(), profiles.end(), std::back_inserter(files.definitions));
  }
  return files;
}

Result<std::vector<std::string>> files_to_share(const std::vector<std::string>& interfaces, const ForeignFiles& foreign,
                                                const NodeReader& node) {
  SPARK_TRY(const auto paths, merged_files(node));
  std::vector<std::string> shared;
  for (const std::string& path : paths) {
    if (path == kOwnFile) continue;
    SPARK_TRY(const std::string text, read_netplan_file(path, node));
    const bool to_be_emptied =
        std::any_of(foreign.definitions.begin(), foreign.definitions.end(), [&](const Definition& one) {
          const bool asked =
              one.is_profile || std::find(interfaces.begin(), interfaces.end(), one.id) != interfaces.end();
          return asked && one.why_not_taken_over.empty() && one.source.starts_with(path + ":");
        });
    if (!to_be_emptied && emptied_in(text).empty()) continue;
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
                                      {"why_not_taken_over", one.why_not_taken_over}}));
  }
  Value unreadable(Value::List{});
  for (const UnreadableFile& one : files.unreadable) {
    unreadable.push_back(Value::map({{"source", one.source}, {"message", one.message}}));
  }
  return Value::map({{"definitions", std::move(definitions)},
                     {"unreadable", std::move(unreadable)},
                     {"renderer", std::string(to_string(files.renderer))}});
}

namespace {

/// 0 for a number that no int holds.
int in_int(std::int64_t number) { return std::in_range<int>(number) ? static_cast<int>(number) : 0; }

}  // namespace

ForeignFiles decode_foreign_files(const Value& value) {
  ForeignFiles files;
  const Value* definitions = value.find("definitions");
  if (definitions != nullptr && definitions->list_items() != nullptr) {
    for (const Value& one : *definitions->list_items()) {
      files.definitions.push_back({one.text_or("source", ""), one.text_or("section", ""), one.text_or("id", ""),
                                   one.boolean_or("has_match", false), one.text_or("match_name", ""),
                                   one.text_or("match_mac", ""), one.text_or("match_driver", ""),
                                   texts_in(one.find("members")), one.text_or("set_name", ""),
                                   one.text_or("parent", ""), one.boolean_or("has_virtual_functions", false),
                                   one.boolean_or("is_profile", false), one.boolean_or("starts_by_itself", true),
                                   in_int(one.integer_or("priority", 0)), one.boolean_or("generated", false),
                                   one.text_or("why_not_taken_over", "")});
    }
  }
  files.renderer = renderer_from(value.text_or("renderer", "")).value_or(Renderer::kNetworkd);
  const Value* unreadable = value.find("unreadable");
  if (unreadable != nullptr && unreadable->list_items() != nullptr) {
    for (const Value& one : *unreadable->list_items()) {
      files.unreadable.push_back({one.text_or("source", ""), one.text_or("message", "")});
    }
  }
  return files;
}

}  // namespace sparkplan::netplan
