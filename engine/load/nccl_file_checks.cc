#include "engine/core/tree.h"
#include "engine/domain/nccl/nccl_variables.h"
#include "engine/load/semantic_checks.h"
#include "engine/resource/shell_environment.h"

namespace sparkplan {
namespace {

void check_environment(const Value* environment, Findings& findings) {
  std::vector<NcclAssignment> assignments;
  for (const auto& entry : entries_of(environment)) {
    if (entry.value.is_null()) continue;
    auto value = variable_value(entry.value);
    if (value) assignments.push_back({entry.key, *std::move(value), entry.key_where, entry.value.where});
  }
  for (auto& finding : lint_nccl(assignments)) findings.add(std::move(finding));
}

}  // namespace

void check_nccl_variables(const Value& holder, Findings& findings) {
  if (const Value* nccl = holder.find("nccl")) check_environment(nccl->find("env"), findings);
  check_environment(holder.find("profile_env"), findings);
}

}  // namespace sparkplan
