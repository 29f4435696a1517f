#include "engine/cli/commands.h"
#include "engine/cli/load_command.h"
#include "engine/cli/saved_plan_file.h"
#include "engine/core/json.h"

namespace sparkplan {

int run_show(const ShowOptions& options, Console& console) {
  const auto plan = read_saved_plan(options.file);
  if (!plan) {
    console.error(plan.error());
    return 1;
  }
  if (!*plan) {
    console.error(Error{ErrorCode::kInvalidInput,
                        options.file + " is no saved plan, or cannot be read",
                        {},
                        std::nullopt,
                        "sparkplan plan -o PLAN saves one"});
    return 1;
  }
  const auto& saved = **plan;
  if (options.json) {
    auto report = to_json_value(saved.report);
    report.set("saved_plan", Value::map({{"id", saved.id, {}},
                                         {"created", saved.created, {}},
                                         {"sparkplan_version", saved.sparkplan_version, {}}}));
    console.result(public_json(report) + "\n");
    return 0;
  }
  console.remark("Plan " + saved.id + ", made at " + saved.created + " by sparkplan " + saved.sparkplan_version +
                 " from " + saved.report.file);
  print(saved.report, LoadedCluster{std::nullopt, {}, saved.source, {}}, false, console);
  return 0;
}

}  // namespace sparkplan
