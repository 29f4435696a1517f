#include "resources/ssh_trust/exports.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <set>
#include <utility>

#include "engine/core/text.h"
#include "engine/core/tree.h"
#include "resources/ssh_trust/account.h"
#include "resources/ssh_trust/addresses.h"
#include "resources/ssh_trust/key_files.h"
#include "resources/ssh_trust/public_key.h"
#include "resources/ssh_trust/shared_home.h"

namespace sparkplan::ssh_trust {
namespace {

constexpr std::chrono::seconds kSudoDeadline{5};
constexpr const char* kHostKeyDirectory = "/etc/ssh";

/// Whether sudo lets the user run everything without a password. With --list as root, sudo runs nothing. Source:
/// sudo(8), --list; sudoers(5), NOPASSWD.
bool has_free_sudo(const std::string& user, const NodeReader& node) {
  const std::vector<std::string> argv{"sudo", "-n", "-l", "-U", user};
  const Result<CommandOutput> output = node.query(argv, kSudoDeadline);
  if (!output || output->exit_status != 0) return false;
  for (const std::string_view line : split_lines(output->standard_output)) {
    const std::size_t tag = line.find("NOPASSWD:");
    if (tag == std::string_view::npos) continue;
    const std::string_view rest = line.substr(tag);
    if (rest.ends_with(": ALL") || rest.find(": ALL,") != std::string_view::npos) return true;
  }
  return false;
}

Value export_of_user(const std::string& user, const NodeReader& node) {
  Value entry = Value::map();
  const Result<Account> account = look_up(user, node);
  if (!account || !check_home(*account, node)) return entry;
  if (Result<Value> home = describe_home(*account, node)) entry.set("home", *std::move(home));
  const Result<std::optional<std::string>> key = public_key_of(*account, node);
  if (!key) return entry;
  const bool makes_key = !*key;
  if (makes_key) {
    entry.set("makes_key", true);
  } else {
    entry.set("public_key", **key);
  }
  // Only a plan that makes keys uses `root`, and sudo is slow.
  if (account->uid == 0 || (makes_key && has_free_sudo(user, node))) entry.set("root", true);
  return entry;
}

Result<Value> host_keys(const NodeReader& node) {
  SPARK_TRY(const std::vector<std::string> names, or_empty(node.list_directory(kHostKeyDirectory)));
  std::set<std::string> keys;
  for (const std::string& name : names) {
    if (!name.starts_with("ssh_host_") || !name.ends_with("_key.pub")) continue;
    SPARK_TRY(const std::string text, node.read_file(std::string(kHostKeyDirectory) + "/" + name));
    if (const auto key = parse_public_key(text)) keys.insert(*key);
  }
  // Keys over the limits are left out, because importers would refuse the whole export. The short ed25519 and ECDSA
  // keys sort before RSA.
  Value list = Value::list();
  std::size_t bytes = 0;
  for (const std::string& key : keys) {
    if (list.list_items()->size() == kMostHostKeys) break;
    if (key.size() > kLongestText || bytes + key.size() > kMostHostKeyBytes) continue;
    bytes += key.size();
    list.push_back(key);
  }
  return list;
}

constexpr int kDeepest = 8;

std::string more_than(std::size_t number, const char* what, std::size_t most) {
  return "it lists " + std::to_string(number) + " " + what + ", and at most " + std::to_string(most) + " are allowed";
}

std::size_t length_of(const Value* value) { return items_of(value).size() + entries_of(value).size(); }

/// Counts values, bytes and depth; stops at the first exceeded limit.
class Measure {
 public:
  void add(const Value& value, int depth = 0) {
    if (!excess_.empty()) return;
    if (++values_ > kMostExportValues || depth > kDeepest) return exceed("it has too many values");
    if (value.string() != nullptr) add_text(*value.string());
    if (value.unknown() != nullptr) return exceed("it contains a value that is not known yet");
    if (const Value::List* items = value.list_items()) {
      for (const Value& item : *items) add(item, depth + 1);
    }
    if (const Value::Map* entries = value.entries()) {
      for (const MapEntry& entry : *entries) {
        add_text(entry.key);
        add(entry.value, depth + 1);
      }
    }
  }
  std::string take() && { return std::move(excess_); }

 private:
  void add_text(const std::string& text) {
    bytes_ += text.size();
    if (text.size() > kLongestText) exceed("it has a text of more than " + std::to_string(kLongestText) + " bytes");
    if (bytes_ > kMostExportBytes) exceed("it has more than " + std::to_string(kMostExportBytes) + " bytes");
  }
  void exceed(std::string why) {
    if (excess_.empty()) excess_ = std::move(why);
  }

  std::size_t values_ = 0;
  std::size_t bytes_ = 0;
  std::string excess_;
};

std::size_t bytes_of(const Value* list) {
  std::size_t bytes = 0;
  for (const Value& item : items_of(list)) bytes += text_of(&item).size();
  return bytes;
}

}  // namespace

std::vector<Value> users_of(const Value& section) {
  std::vector<Value> users;
  const Value::List& listed = items_of(section.find("users"));
  std::ranges::copy_if(listed, std::back_inserter(users), [](const Value& user) { return user.is_string(); });
  return users;
}

Result<Value> export_trust(const Value& section, const NodeReader& node) {
  const std::vector<Value> names = users_of(section);
  if (names.empty() || !node.live()) return Value();
  Value users = Value::map();
  // A checked file never has more users than the schema allows.
  for (const Value& name : names) {
    if (users.entries()->size() == kMostUsers) break;
    users.set(*name.string(), export_of_user(*name.string(), node));
  }
  SPARK_TRY(Value keys, host_keys(node));
  const std::set<std::string> found = most_useful_addresses(node, kMostAddresses);
  Value::List addresses(found.begin(), found.end());
  return Value::map({{"users", std::move(users)}, {"host_keys", std::move(keys)}, {"addresses", std::move(addresses)}});
}

std::string excess_of(const Value& exported) {
  const Value* host_keys = exported.find("host_keys");
  if (const auto number = length_of(exported.find("addresses")); number > kMostAddresses) {
    return more_than(number, "addresses", kMostAddresses);
  }
  if (const auto number = length_of(host_keys); number > kMostHostKeys) {
    return more_than(number, "host keys", kMostHostKeys);
  }
  if (const auto number = length_of(exported.find("users")); number > kMostUsers) {
    return more_than(number, "users", kMostUsers);
  }
  if (bytes_of(host_keys) > kMostHostKeyBytes) {
    return "its host keys have more than " + std::to_string(kMostHostKeyBytes) + " bytes";
  }
  Measure measure;
  measure.add(exported);
  return std::move(measure).take();
}

}  // namespace sparkplan::ssh_trust
