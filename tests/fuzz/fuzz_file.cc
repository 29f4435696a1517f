// Files from a user: cluster.yaml, which another person may have written, and saved plans. An input is "cluster",
// "plan" or "raw", a newline, and the file. The fuzzer adds the matching digest to a "plan", because the author of a
// forged plan can compute it too.
#include <string>

#include "engine/core/json.h"
#include "engine/core/text.h"
#include "engine/export/export.h"
#include "engine/load/load.h"
#include "engine/plan/desired_state.h"
#include "engine/plan/held_plan.h"
#include "engine/plan/saved_plan.h"
#include "engine/plan/saved_plan_check.h"
#include "engine/report/exit_code.h"
#include "engine/report/plan/report.h"
#include "engine/report/plan/saved_plan_text.h"
#include "tests/fuzz/choices.h"
#include "tests/fuzz/named_input.h"
#include "tests/fuzz/property.h"
#include "tests/fuzz/user_file_readers.h"

namespace sparkplan::fuzz {
namespace {

void use_cluster(const Cluster& cluster) {
  const Registry& registry = builtin_registry();
  (void)unsupported_sections(cluster, registry);
  Facts facts;
  facts.live = true;
  facts.hostname = "spark-01";
  const std::map<std::string, NodeExports> nothing;
  for (const NodeSpec& node : cluster.nodes) {
    const DesiredState desired = desired_state(ClusterView{cluster, node, nothing}, facts, registry);
    for (const Resource& one : desired.resources) require(!one.id.name.empty(), "a resource without a name");
    if (node.id > 2) break;
  }
  for (const auto& format : export_formats()) {
    const auto text = export_cluster(cluster, format, registry);
    if (text) {
      require(printable(text->text, true) == text->text, "an export as " + format + " is not safe to print",
              text->text);
    }
  }
}

void load(std::string_view text) {
  const ReadBeside beside = [](const std::string& name) -> Result<std::string> {
    if (name.size() % 2 == 1) return failure(ErrorCode::kNotFound, "no such file");
    return "text of " + name;
  };
  const LoadedCluster loaded = load_cluster(text, "cluster.yaml", builtin_registry(), beside);
  require(loaded.cluster.has_value() != has_errors(loaded.diagnostics), "a cluster with errors, or none without");
  for (const Diagnostic& one : loaded.diagnostics) require_printable(render(one, loaded.source), "a finding");
  if (loaded.cluster) use_cluster(*loaded.cluster);
}

void use_plan(const SavedPlan& plan) {
  require_printable(to_text(plan.report, {}), "a report");
  TextStyle quiet;
  quiet.quiet = true;
  quiet.show_in_sync = false;
  require_printable(to_text(plan.report, quiet), "a report");
  require(decode_json(public_json(to_json_value(plan.report))).has_value(), "a report is no JSON");
  (void)exit_code(plan.report, ExitRules{true, true, true});
  for (const NodeReport& node : plan.report.nodes) {
    (void)hold_to(node.plan, node.plan);
    (void)beyond_what_was_shown(node.plan, node.plan);
    (void)status_of(node.plan);
  }
  const ReadBeside beside = [&](const std::string& name) -> Result<std::string> {
    const auto text = plan.beside.find(name);
    if (text == plan.beside.end()) return failure(ErrorCode::kNotFound, "no such file");
    return text->second;
  };
  const Registry& registry = builtin_registry();
  const LoadedCluster loaded = load_cluster(plan.source, plan.report.file, registry, beside);
  if (!loaded.cluster) return;
  const auto belongs = check_belongs(plan, *loaded.cluster, loaded.diagnostics, registry);
  if (!belongs) return require_printable(belongs.error().describe(), "why a plan is refused");
  require_printable(to_text(plan, *loaded.cluster, registry, {}), "a saved plan");
  require(is_valid_utf8(public_json(to_json_value(plan, *loaded.cluster))), "a saved plan is no UTF-8");
}

void read_plan(std::string_view text) {
  const auto plan = decode_saved_plan(std::string(text));
  if (!plan) {
    if (plan.error().code == ErrorCode::kUnsupported) require_printable(plan.error().describe(), "an error");
    return;
  }
  use_plan(*plan);
}

void read_sealed_plan(std::string_view text) {
  read_saved_plan(text);
  if (const auto sealed = sealed_plan(text)) read_plan(*sealed);
}

void read(Choices choices) {
  const auto kind = choices.line();
  if (kind == "cluster") return load(choices.rest());
  if (kind == "plan") return read_sealed_plan(choices.rest());
  if (is_saved_plan(choices.rest())) read_plan(choices.rest());
}

}  // namespace
}  // namespace sparkplan::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  sparkplan::fuzz::read({data, size});
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  const bool is_plan = size > 0 && data[0] == 'p';
  return sparkplan::fuzz::mutate_named_input(data, size, max_size, seed, is_plan);
}
