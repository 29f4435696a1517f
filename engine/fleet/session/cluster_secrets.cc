#include "engine/fleet/session/cluster_secrets.h"

#include <filesystem>
#include <set>
#include <utility>

#include "engine/core/diagnostic.h"
#include "engine/core/digest.h"
#include "engine/core/text.h"
#include "engine/core/tree.h"
#include "engine/fleet/session/secret_source.h"

namespace sparkplan {
namespace {

void collect(const Value& value, bool one_line, std::map<std::string, std::size_t>& known,
             std::vector<NeededSecret>& needed) {
  if (const Value* reference = secret_reference(value)) {
    const auto [place, is_new] = known.try_emplace(digest(*reference), needed.size());
    if (is_new) needed.push_back({*reference, reference->where, false});
    needed[place->second].one_line = needed[place->second].one_line || one_line;
    return;
  }
  for (const MapEntry& entry : entries_of(value)) collect(entry.value, one_line, known, needed);
  for (const Value& item : items_of(value)) collect(item, one_line, known, needed);
}

Diagnostic fault(const NeededSecret& needed, const Cluster& cluster, const std::string& message, std::string hint) {
  Diagnostic found = finding("secret.unusable", "the secret (" + secret_text(needed.reference) + "): " + message,
                             std::move(hint), needed.where);
  found.file = cluster.file;
  return found;
}

void collect_tokens(const Value& value, std::set<std::string>& tokens) {
  if (const std::string* text = value.string(); text != nullptr && is_secret_token(*text)) tokens.insert(*text);
  for (const MapEntry& entry : entries_of(value)) collect_tokens(entry.value, tokens);
}

}  // namespace

std::vector<NeededSecret> needed_secrets(const Cluster& cluster, const Selection& selection) {
  std::map<std::string, std::size_t> known;
  std::vector<NeededSecret> needed;
  for (const NodeSpec& node : cluster.nodes) {
    if (node.maintenance || !selection.includes_node(node.name.str())) continue;
    for (const char* section : {"profile_env", "files"}) {
      const auto body = node.sections.find(section);
      if (body != node.sections.end()) collect(body->second, std::string_view(section) == "profile_env", known, needed);
    }
  }
  return needed;
}

std::vector<std::string> secret_commands(const std::vector<NeededSecret>& needed) {
  std::vector<std::string> commands;
  for (const NeededSecret& one : needed) {
    if (one.reference.find("command") != nullptr) commands.push_back(whole_secret_text(one.reference));
  }
  return commands;
}

std::vector<Diagnostic> ClusterSecrets::read(const std::vector<NeededSecret>& needed, const Cluster& cluster,
                                             const Reading& reading) {
  std::vector<Diagnostic> findings;
  const SecretPlace place{std::filesystem::path(cluster.file).parent_path(), reading.deadline, reading.stop};
  for (const NeededSecret& one : needed) {
    if (reading.progress && one.reference.find("command") != nullptr) reading.progress(secret_text(one.reference));
    Result<ReadSecret> secret = read_secret(one.reference, place);
    if (!secret) {
      findings.push_back(fault(one, cluster, printable(secret.error().describe()), secret.error().hint));
      continue;
    }
    if (one.one_line && has_control_character(secret->value.text())) {
      findings.push_back(fault(one, cluster, "a newline or control character cannot be part of a variable's value",
                               "write it to a file: files: [{path, content: {secret: ...}}]"));
      continue;
    }
    if (!secret->warning.empty()) {
      findings.push_back(fault(one, cluster, printable(secret->warning), "chmod 600"));
      findings.back().severity = Severity::kWarning;
      findings.back().code = "secret.readable";
    }
    values_.insert_or_assign(digest(one.reference), std::move(secret->value));
  }
  return findings;
}

std::string ClusterSecrets::token(const Value& reference, std::string_view key) const {
  const auto found = values_.find(digest(reference));
  return found == values_.end() ? std::string(kUnreadSecret) : secret_token(key, found->second.text());
}

std::vector<SecretValue> ClusterSecrets::values_for(const std::vector<Step>& steps, const NodeSpec& node,
                                                    std::string_view key) const {
  std::set<std::string> tokens;
  for (const Step& step : steps) collect_tokens(present_value(step.after), tokens);
  std::vector<SecretValue> values;
  if (tokens.empty()) return values;
  std::map<std::string, std::size_t> known;
  std::vector<NeededSecret> declared;
  for (const auto& [section, body] : node.sections) collect(body, false, known, declared);
  for (const NeededSecret& one : declared) {
    const auto found = values_.find(digest(one.reference));
    if (found == values_.end()) continue;
    std::string token = secret_token(key, found->second.text());
    if (tokens.erase(token) > 0) values.push_back({std::move(token), std::string(found->second.text())});
  }
  return values;
}

void put_last_applied_secrets(Value& desired, const Value* last_applied) {
  if (last_applied == nullptr) return;
  if (const std::string* text = desired.string()) {
    const std::string* last = last_applied->string();
    if (*text == kUnreadSecret && last != nullptr && is_secret_token(*last)) desired = Value(*last);
    return;
  }
  if (Value::Map* entries = desired.entries()) {
    for (MapEntry& entry : *entries) put_last_applied_secrets(entry.value, last_applied->find(entry.key));
  }
}

}  // namespace sparkplan
