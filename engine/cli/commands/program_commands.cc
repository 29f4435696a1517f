// schema, types, version: what this program knows by itself.
#include <fmt/format.h>

#include "engine/cli/commands/commands.h"
#include "engine/load/load.h"
#include "engine/remote/programs/agent_image.h"
#include "engine/resource/registry.h"

namespace sparkplan {

Result<ExitCode> run_schema(Console& console) {
  console.result(cluster_schema(builtin_registry()));
  return ExitCode::kDone;
}

Result<ExitCode> run_types(Console& console) {
  for (const auto& type : builtin_registry().types()) {
    const auto& info = type->info();
    console.result(fmt::format("{:<14} {:<14} {}\n", info.name, info.section + ":", info.summary));
    for (const auto& file : info.files) console.result(fmt::format("{:<14} {:<14} {}\n", "", "", file));
  }
  return ExitCode::kDone;
}

std::string version_text() {
  std::string text = "sparkplan " SPARKPLAN_VERSION;
  for (const auto& architecture : agent_architectures()) {
    text += fmt::format("\nagent {} {}", architecture, agent_image(architecture)->build);
  }
  return text;
}

Result<ExitCode> run_version(Console& console) {
  console.result(version_text() + "\n");
  return ExitCode::kDone;
}

}  // namespace sparkplan
