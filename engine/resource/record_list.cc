#include "engine/resource/record_list.h"

#include "engine/core/diagnostic.h"
#include "engine/core/text.h"

namespace sparkplan {

std::optional<std::string> RecordList::identity_of(const Value& record) const {
  std::string whole;
  for (const std::string& field : identity) {
    const Value* part = record.find(field);
    if (part == nullptr || !part->is_string()) return std::nullopt;
    whole += *part->string() + '\n';
  }
  return whole;
}

std::optional<Diagnostic> missing_key(const Value& record, std::string_view name_field, std::string_view key) {
  const Value* name = record.find(name_field);
  if (record.find(key) != nullptr || name == nullptr || !name->is_string()) return std::nullopt;
  return finding("list.missing-key", in_quotes(*name->string()) + " has no " + in_quotes(key),
                 "add it here or in the section that all nodes inherit", name->where);
}

}  // namespace sparkplan
