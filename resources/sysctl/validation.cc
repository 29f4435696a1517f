#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

#include "engine/core/diagnostic.h"
#include "engine/core/tree.h"
#include "resources/sysctl/sysctl.h"

namespace sparkplan::sysctl {
namespace {

/// The kernel clears one of a pair when the other is set.
/// Source: Documentation/admin-guide/sysctl/vm.rst.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kEitherOr{
    {{"vm/dirty_background_bytes", "vm/dirty_background_ratio"},
     {"vm/dirty_bytes", "vm/dirty_ratio"},
     {"vm/overcommit_kbytes", "vm/overcommit_ratio"}}};

/// The finding is at the later of two places, its note at the earlier one.
Diagnostic clash(const char* code, std::string message, std::string hint, const MapEntry& a, const MapEntry& b) {
  const bool in_order = a.key_where <= b.key_where;
  const MapEntry& earlier = in_order ? a : b;
  const MapEntry& later = in_order ? b : a;
  Diagnostic diagnostic = finding(code, std::move(message), std::move(hint), later.key_where);
  diagnostic.notes.push_back({earlier.key + " is here", earlier.key_where});
  return diagnostic;
}

}  // namespace

std::vector<Diagnostic> validate_section(const Value& section) {
  std::vector<Diagnostic> findings;
  std::map<std::string, const MapEntry*, std::less<>> seen;
  for (const MapEntry& entry : entries_of(section)) {
    if (entry.value.is_null()) continue;
    const Result<Key> key = parse_key(entry.key);
    if (!key) {
      findings.push_back(finding("sysctl.key", key.error().message, key.error().hint, entry.key_where));
    } else if (const auto [first, added] = seen.emplace(key->path, &entry); !added) {
      findings.push_back(clash("sysctl.one-key-twice",
                               "\"" + entry.key + "\" and \"" + first->second->key + "\" are the same kernel parameter",
                               "keep one of them, preferably " + dotted(*key), *first->second, entry));
    }
    if (const Result<std::string> value = resolve_value(entry.value); !value) {
      findings.push_back(finding("sysctl.value", value.error().message, value.error().hint, entry.value.where));
    }
  }
  for (const auto& [one, other] : kEitherOr) {
    const auto a = seen.find(one);
    const auto b = seen.find(other);
    if (a == seen.end() || b == seen.end()) continue;
    findings.push_back(clash("sysctl.either-or",
                             dotted(Key{std::string(one)}) + " and " + dotted(Key{std::string(other)}) +
                                 " exclude each other: setting one clears the other",
                             "keep one of them", *a->second, *b->second));
  }
  return findings;
}

}  // namespace sparkplan::sysctl
