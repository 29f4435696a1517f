#include "resources/file/drop_ins.h"

#include <chrono>
#include <filesystem>
#include <vector>

#include "engine/core/text.h"

namespace sparkplan::file {
namespace {

constexpr std::string_view kLogindFolder = "/etc/systemd/logind.conf.d/";
/// systemd makes this link each time it starts the unit. Source: systemd, src/core/unit.c, unit_export_invocation_id().
constexpr std::string_view kLogindStarted = "/run/systemd/units/invocation:systemd-logind.service";
constexpr std::chrono::seconds kRestartDeadline{30};

}  // namespace

std::string own_folder(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.starts_with("/etc/") && folder.ends_with(".d") ? folder : "";
}

bool is_of_logind(const std::string& path) { return path.starts_with(kLogindFolder) && path.ends_with(".conf"); }

Result<bool> logind_runs(const NodeReader& node) {
  if (!node.live()) return false;
  return node.is_there(kLogindStarted);
}

Result<std::optional<bool>> logind_has_read(const std::string& path, const NodeReader& node) {
  if (!node.live()) return std::nullopt;
  SPARK_TRY(const auto started, if_there(node.status(kLogindStarted)));
  if (!started) return std::nullopt;
  SPARK_TRY(const FileStatus written, node.status(path));
  return started->changed_at_nanos >= written.changed_at_nanos;
}

Result<void> restart_logind(Node& node) {
  const std::vector<std::string> argv{"systemctl", "restart", std::string(kLogind)};
  SPARK_TRY(const CommandOutput output, node.run(argv, kRestartDeadline));
  if (output.exit_status == 0) return {};
  return failure(ErrorCode::kFailed,
                 "systemctl restart " + std::string(kLogind) + ": " + printable(trim(output.standard_error)));
}

}  // namespace sparkplan::file
