// The JSON of `status`.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "engine/report/nodes/status_report.h"
#include "engine/report/plan/report.h"

namespace sparkplan {
namespace {

Value number(std::size_t count) { return static_cast<std::int64_t>(count); }

Value to_value(const FabricState& fabric) {
  Value mtus{Value::List{}};
  for (const int mtu : fabric.mtus) mtus.push_back(mtu);
  return Value::map({{"ports", number(fabric.ports)}, {"up", number(fabric.up)}, {"mtus", std::move(mtus)}});
}

Value to_value(const VerifySummary& last) {
  return Value::map({{"time", last.time},
                     {"level", last.level},
                     {"passed", last.passed},
                     {"warned", last.warned},
                     {"failed", last.failed}});
}

Value to_value(const RunningJob& job) {
  return Value::map({{"id", job.id},
                     {"user", job.user},
                     {"started_by", job.who},
                     {"pid", job.pid},
                     {"since", job.since},
                     {"command", job.command}});
}

/// `planned` is the node in the JSON of a plan.
Value node_value(const Value& planned, const NodePlan& plan, const NodeState& state) {
  Value value = Value::map({});
  for (const std::string_view key : {"name", "address", "status", "membership", "error", "lock_holder"}) {
    if (const Value* found = planned.find(key)) value.set(key, *found);
  }
  value.set("pending", number(count_changes(plan, false)));
  value.set("drifted", number(count_changes(plan, true)));
  value.set("maintenance", state.maintenance);
  value.set("agent", to_string(state.agent));
  value.set("os", state.os);
  value.set("gpu_driver", state.gpu_driver);
  value.set("nccl_version", state.nccl_version);
  if (state.fabric) value.set("fabric", to_value(*state.fabric));
  Value jobs{Value::List{}};
  for (const RunningJob& job : state.jobs) jobs.push_back(to_value(job));
  if (!state.jobs.empty()) value.set("jobs", std::move(jobs));
  if (state.last_verify) value.set("last_verify", to_value(*state.last_verify));
  if (!state.last_apply.empty()) {
    value.set("last_apply", Value::map({{"time", state.last_apply},
                                        {"resources", number(state.resources)},
                                        {"generation", state.generation}}));
  }
  return value;
}

}  // namespace

Value to_json_value(const StatusReport& report) {
  const Value planned = to_json_value(report.run);
  Value nodes{Value::List{}};
  const Value* all = planned.find("nodes");
  for (std::size_t at = 0; at < report.nodes.size(); ++at) {
    nodes.push_back(node_value((*all->list_items())[at], report.run.nodes[at].plan, report.nodes[at]));
  }
  Value value = Value::map({{"format_version", "1.0"}});
  for (const std::string_view key : {"command", "cluster", "config_digest"}) {
    if (const Value* found = planned.find(key)) value.set(key, *found);
  }
  value.set("nodes", std::move(nodes));
  for (const std::string_view key : {"diagnostics", "duration_s"}) {
    if (const Value* found = planned.find(key)) value.set(key, *found);
  }
  return value;
}

}  // namespace sparkplan
