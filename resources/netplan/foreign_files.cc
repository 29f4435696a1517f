#include "resources/netplan/foreign_files.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <utility>

#include "engine/core/text.h"
#include "engine/core/text_list.h"
#include "resources/netplan/netplan_file.h"
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

bool is_ethernet_of(const LinkFacts& link, const Definition& definition) {
  if (definition.section != "ethernets" && definition.section != "wifis") return false;
  if (!definition.has_match) return definition.id == link.name;
  return (definition.match_name.empty() || matches(definition.match_name, link.name)) &&
         (definition.match_mac.empty() || lower_case(definition.match_mac) == lower_case(link.mac)) &&
         (definition.match_driver.empty() || any_glob_matches(definition.match_driver, link.driver));
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

std::vector<Definition> definitions_in(const std::string& path, const Value& tree) {
  std::vector<Definition> definitions;
  const Value* network = tree.find("network");
  if (network == nullptr || network->entries() == nullptr) return definitions;
  for (const MapEntry& section : *network->entries()) {
    if (section.value.entries() == nullptr) continue;
    for (const MapEntry& entry : *section.value.entries()) {
      Definition definition;
      definition.source = path + ":" + std::to_string(entry.key_where.line);
      definition.section = section.key;
      definition.id = entry.key;
      if (const Value* match = entry.value.find("match")) {
        definition.has_match = true;
        definition.match_name = text_or_joined(*match, "name");
        definition.match_mac = text_or_joined(*match, "macaddress");
        definition.match_driver = text_or_joined(*match, "driver");
      }
      definition.members = texts_in(entry.value.find("interfaces"));
      definitions.push_back(std::move(definition));
    }
  }
  return definitions;
}

std::optional<Definition> definition_of(const LinkFacts& link, const std::vector<Definition>& definitions) {
  const auto says_something = [&](const Definition& definition) {
    const auto& members = definition.members;
    return is_ethernet_of(link, definition) || std::find(members.begin(), members.end(), link.name) != members.end();
  };
  const auto found = std::find_if(definitions.begin(), definitions.end(), says_something);
  return found == definitions.end() ? std::nullopt : std::optional(*found);
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
    for (Definition& definition : definitions_in(path, *tree)) files.definitions.push_back(std::move(definition));
  }
  return files;
}

Value encode(const ForeignFiles& files) {
  Value definitions(Value::List{});
  for (const Definition& one : files.definitions) {
    definitions.push_back(Value::map({{"source", one.source, {}},
                                      {"section", one.section, {}},
                                      {"id", one.id, {}},
                                      {"has_match", one.has_match, {}},
                                      {"match_name", one.match_name, {}},
                                      {"match_mac", one.match_mac, {}},
                                      {"match_driver", one.match_driver, {}},
                                      {"members", list_of_texts(one.members), {}}}));
  }
  Value unreadable(Value::List{});
  for (const UnreadableFile& one : files.unreadable) {
    unreadable.push_back(Value::map({{"source", one.source, {}}, {"message", one.message, {}}}));
  }
  return Value::map({{"definitions", std::move(definitions), {}}, {"unreadable", std::move(unreadable), {}}});
}

ForeignFiles decode_foreign_files(const Value& value) {
  ForeignFiles files;
  const Value* definitions = value.find("definitions");
  if (definitions != nullptr && definitions->list_items() != nullptr) {
    for (const Value& one : *definitions->list_items()) {
      files.definitions.push_back({one.text_or("source", ""), one.text_or("section", ""), one.text_or("id", ""),
                                   one.boolean_or("has_match", false), one.text_or("match_name", ""),
                                   one.text_or("match_mac", ""), one.text_or("match_driver", ""),
                                   texts_in(one.find("members"))});
    }
  }
  const Value* unreadable = value.find("unreadable");
  if (unreadable != nullptr && unreadable->list_items() != nullptr) {
    for (const Value& one : *unreadable->list_items()) {
      files.unreadable.push_back({one.text_or("source", ""), one.text_or("message", "")});
    }
  }
  return files;
}

}  // namespace sparkplan::netplan
