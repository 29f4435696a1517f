#include "engine/load/semantic_checks.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "engine/core/text.h"
#include "engine/core/tree.h"

namespace sparkplan {
namespace {

constexpr std::string_view kSection = "files";

bool is_capital(char letter) { return letter >= 'A' && letter <= 'Z'; }

/// "/etc/nccl.conf (marked block)" -> "/etc/nccl.conf"; "/etc/systemd/system/NAME" -> ".../*".
std::string as_pattern(std::string_view owned) {
  owned = owned.substr(0, owned.find(' '));
  std::string pattern;
  for (std::size_t i = 0; i < owned.size();) {
    const auto end = std::find_if_not(owned.begin() + static_cast<std::ptrdiff_t>(i), owned.end(), is_capital);
    const auto capitals = static_cast<std::size_t>(end - owned.begin()) - i;
    const bool placeholder = capitals > 1;
    pattern += placeholder ? '*' : owned[i];
    i += placeholder ? capitals : 1;
  }
  return pattern;
}

const TypeInfo* owner_of(const std::string& path, const Registry& registry) {
  for (const auto& type : registry.types()) {
    const TypeInfo& info = type->info();
    const bool owns = info.section != kSection && std::ranges::any_of(info.files, [&](const std::string& owned) {
                        return owned.starts_with('/') && glob_match(as_pattern(owned), path);
                      });
    if (owns) return &info;
  }
  return nullptr;
}

void check_records(const Value* records, const Registry& registry, Findings& findings) {
  for (const Value& record : items_of(records)) {
    const Value* path = record.find("path");
    const TypeInfo* owner = owner_of(text_of(path), registry);
    if (owner == nullptr) continue;
    findings.error(path->where, "files.owned", in_quotes(text_of(path)) + " is written by \"" + owner->section + "\"",
                   "declare its content there: sparkplan types lists what each section writes");
  }
}

}  // namespace

void check_owned_paths(const UnresolvedCluster& draft, Findings& findings) {
  const Registry& registry = *draft.registry;
  check_records(draft.root->find(kSection), registry, findings);
  for (const UnresolvedNode& node : draft.nodes) check_records(node.record->find(kSection), registry, findings);
}

}  // namespace sparkplan
