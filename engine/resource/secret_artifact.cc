#include "engine/resource/secret_artifact.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/core/diagnostic.h"
#include "engine/core/text.h"
#include "engine/core/tree.h"
#include "engine/resource/artifact.h"
#include "engine/resource/shell_environment.h"

namespace sparkplan {
namespace {

constexpr std::array<std::string_view, 3> kSources{"command", "env", "file"};
constexpr std::array<const char*, 3> kHostKeys{"/etc/ssh/ssh_host_ed25519_key", "/etc/ssh/ssh_host_ecdsa_key",
                                               "/etc/ssh/ssh_host_rsa_key"};
constexpr std::string_view kPurpose = "sparkplan: key of secret digests";
constexpr std::size_t kLongestShown = 200;

bool is_key(std::string_view text) {
  return text.size() == kSecretKeyDigits &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

/// A word as a shell would need it, or as it is if it needs no quotes.
std::string shown_word(const std::string& word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:@,+%";
  const bool plain = !word.empty() && word.find_first_not_of(kPlain) == std::string::npos;
  return plain ? word : shell_quote(word);
}

}  // namespace

std::string no_secret_key(std::string_view resource) {
  return "the node has reported no key for the digest of the secret in " + std::string(resource);
}

const Value* secret_reference(const Value& value) {
  const Value* reference = value.find("secret");
  return reference != nullptr && reference->is_map() ? reference : nullptr;
}

bool asks_for_secrets(const Value& section) {
  if (secret_reference(section) != nullptr) return true;
  const Value::Map& entries = entries_of(section);
  const Value::List& items = items_of(section);
  return std::ranges::any_of(entries, [](const MapEntry& one) { return asks_for_secrets(one.value); }) ||
         std::ranges::any_of(items, asks_for_secrets);
}

std::string whole_secret_text(const Value& reference) {
  std::string text;
  if (const Value* command = reference.find("command")) {
    for (const Value& word : items_of(*command)) text += (text.empty() ? "" : " ") + shown_word(text_of(&word));
  } else if (const auto name = text_below(reference, "env")) {
    text = "environment variable " + *name;
  } else {
    text = "file " + reference.text_or("file", "");
  }
  return printable(text);
}

std::string secret_text(const Value& reference) {
  std::string text = whole_secret_text(reference);
  if (text.size() <= kLongestShown) return text;
  // Also the end: "./././" and blanks could fill the beginning, and hide which file is meant.
  const auto is_inside = [&](std::size_t at) { return (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U; };
  std::size_t head = kLongestShown / 2;
  while (is_inside(head)) --head;
  std::size_t tail = text.size() - kLongestShown / 2;
  while (is_inside(tail)) ++tail;
  return text.substr(0, head) + " ... " + text.substr(tail);
}

std::optional<Diagnostic> check_secret(const Value& reference, const std::string& code) {
  std::size_t sources = 0;
  for (const std::string_view source : kSources) {
    if (const Value* found = reference.find(source); found != nullptr && !found->is_null()) ++sources;
  }
  const Value* command = reference.find("command");
  const bool empty = command != nullptr && (items_of(*command).empty() || text_of(&items_of(*command).front()).empty());
  if (sources == 1 && !empty) return std::nullopt;
  return finding(code, empty ? "the command of a secret is empty" : "a secret has exactly one source",
                 "write one of: command: [PROGRAM, ARGUMENT...], env: NAME, file: PATH", reference.where);
}

std::optional<Diagnostic> warn_of_clear_secret(std::string_view name, SourceRange where, const std::string& code) {
  static constexpr std::array<std::string_view, 8> kWords{"TOKEN",   "PASSWORD", "PASSWD",     "SECRET",
                                                          "API_KEY", "APIKEY",   "ACCESS_KEY", "PRIVATE_KEY"};
  std::string upper(name);
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  // TOKENIZERS_PARALLELISM is no secret: the word has to end there.
  const bool named_so = std::ranges::any_of(kWords, [&](std::string_view word) {
    const std::size_t at = upper.find(word);
    if (at == std::string::npos) return false;
    const std::size_t end = at + word.size();
    return end == upper.size() || upper[end] == '_' || upper[end] == 'S';
  });
  if (!named_so) return std::nullopt;
  return finding(Severity::kWarning, code,
                 std::string(name) + " looks like a secret, and its value is readable by every user of the nodes",
                 "write {secret: {env: NAME}}, {secret: {file: PATH}} or {secret: {command: [...]}} in its place",
                 where);
}

std::string token_in(const ClusterView& view, const Value& reference, std::string_view key) {
  return view.secrets == nullptr ? std::string(kUnreadSecret) : view.secrets->token(reference, key);
}

Result<std::string> secret_key(const NodeReader& node) {
  SPARK_TRY(const auto stored, if_there(node.read_file(kSecretKeyFile, 2 * kSecretKeyDigits)));
  if (stored) {
    const std::string key(trim(*stored));
    if (is_key(key)) return key;
    return failure(ErrorCode::kInvalidInput, std::string(kSecretKeyFile) + " is damaged",
                   "remove it: the next apply makes a new one and writes the secrets again");
  }
  for (const char* path : kHostKeys) {
    SPARK_TRY(const auto host_key, if_there(node.read_file(path)));
    if (host_key && !host_key->empty()) return keyed_digest(*host_key, kPurpose);
  }
  return failure(ErrorCode::kUnsupported, "there is no SSH host key, from which the key of secret digests is derived",
                 "make one first: ssh-keygen -A");
}

bool holds_secret(const Observation& observation) { return holds_secret(present_value(observation)); }

bool concerns_secret(const Step& step) { return holds_secret(step.before) || holds_secret(step.after); }

Observation sealed(Observation file, const NodeReader& node) {
  auto* present = std::get_if<Present>(&file);
  const auto content = present == nullptr ? std::nullopt : text_below(present->value, "content");
  if (!content) return file;
  const Result<std::string> key = secret_key(node);
  if (!key) return key.error();
  present->value.set("content", secret_token(*key, *content));
  return file;
}

Observation read_artifact_of(const Step& step, const ResourceType& type, const NodeReader& node) {
  Observation now = read_artifact(step.artifact, type, node);
  return concerns_secret(step) ? sealed(std::move(now), node) : now;
}

}  // namespace sparkplan
