#include "tests/fuzz/user_file_readers.h"

#include "engine/core/diagnostic.h"
#include "engine/core/digest.h"
#include "engine/core/json.h"
#include "engine/load/findings.h"
#include "engine/load/yaml_document.h"
#include "engine/plan/saved_plan.h"
#include "tests/fuzz/property.h"
#include "tests/support/saved_text.h"

namespace sparkplan::fuzz {

void read_cluster_yaml(std::string_view text) {
  Findings findings;
  const YamlDocument document = read_yaml(text, findings);
  require(document.usable || !findings.all().empty(), "a document that cannot be read has no finding", text);
  require(document.usable || document.root.is_null(), "a document that cannot be read has values", text);
  for (const Diagnostic& one : findings.all()) require_printable(render(one, text), "a finding");
}

std::optional<std::string> sealed_plan(std::string_view text) {
  auto tree = decode_json(text);
  Value* body = tree ? tree->find("sparkplan_plan") : nullptr;
  if (body == nullptr || !body->is_map()) return std::nullopt;
  body->erase("digest");
  const std::string seal = digest(*body);
  body->set("digest", seal);
  return encode_json(*tree);
}

void read_saved_plan(std::string_view text) {
  const auto sealed = sealed_plan(text);
  if (!sealed) return;
  const auto plan = decode_saved_plan(*sealed);
  if (!plan) return;
  const std::string again = test::saved_text(*plan);
  const auto same = decode_saved_plan(again);
  require(same.has_value() && is_saved_plan(again), "a plan that was saved is none", again);
  require(test::saved_text(*same) == again, "saving a plan changes it", again);
}

}  // namespace sparkplan::fuzz
