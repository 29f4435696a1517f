#include "engine/core/tree.h"
#include "resources/ssh_trust/exports.h"

#include <utility>

namespace sparkplan::ssh_trust {
namespace {

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
