#include "resources/systemd_unit/unit_state.h"

#include <algorithm>

#include "resources/systemd_unit/unit_text.h"

namespace sparkplan::systemd_unit {
namespace {

Result<std::optional<Override>> defeated_by(const std::string& path, std::string_view ours, bool of_content,
                                            const NodeReader& node) {
  const Result<std::string> text = node.read_file(path);
  if (!text) {
    // systemd still lists a file that was removed meanwhile.
    if (text.error().code == ErrorCode::kNotFound) return std::optional<Override>();
    return failure(Error(text.error()).within("could override our settings"));
  }
  const std::optional<Assignment> found = defeating(ours, *text);
  if (!found) return std::optional<Override>();
  const std::string value = found->key + "=" + found->value;
  return Override{of_content, value, path + ":" + std::to_string(found->line), "sets " + value + " and is read later"};
}

}  // namespace

Result<std::optional<Override>> override_of(const std::string& name, const UnitState& unit, const NodeReader& node) {
  if (!unit.running || unit.running->needs_reload) return std::optional<Override>();
  const bool has_content = unit.content && is_ours(*unit.content);
  if (!has_content && !unit.drop_in) return std::optional<Override>();
  const std::string& fragment = unit.running->fragment;
  if (has_content && !fragment.empty() && fragment != unit_path(name)) {
    return Override{true, fragment, fragment, "is the unit file that systemd uses instead"};
  }
  const std::vector<std::string>& files = unit.running->drop_ins;
  const auto ours = std::ranges::find(files, drop_in_path(name));
  for (auto file = has_content ? files.begin() : ours; file != files.end(); ++file) {
    if (file == ours) continue;
    const std::string& text = has_content ? *unit.content : *unit.drop_in;
    SPARK_TRY(std::optional<Override> found, defeated_by(*file, text, has_content, node));
    if (found) return found;
  }
  return std::optional<Override>();
}

}  // namespace sparkplan::systemd_unit
