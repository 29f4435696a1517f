#include "resources/mount/mount_change.h"

#include <chrono>
#include <vector>

#include "engine/core/text.h"

namespace sparkplan::mount {
namespace {

constexpr std::chrono::seconds kDirectoryDeadline{30};

Result<void> run(std::vector<std::string> argv, Node& node) {
  SPARK_TRY(const CommandOutput output, node.run(argv, kDirectoryDeadline));
  if (output.exit_status == 0) return {};
  return failure(ErrorCode::kFailed, std::string(trim(output.standard_error)));
}

}  // namespace

Observation observe_directory(const std::string& path, const NodeReader& node) {
  const auto status = node.status(path);
  if (!status && status.error().code == ErrorCode::kNotFound) return Absent{};
  if (!status) return status.error();
  if (status->kind == FileStatus::Kind::kDirectory) return Present{Value::map({{"directory", true}}), {}};
  const bool link = status->kind == FileStatus::Kind::kSymlink;
  return make_error(
      ErrorCode::kRefused,
      path + (link ? " is a symbolic link, and systemd does not mount at or below it" : " is not a directory"),
      link ? "write the path that it points to" : "move it away, or choose another target");
}

Result<void> make_directory(const std::string& path, const Observation& after, Node& node) {
  const Observation now = observe_directory(path, node);
  if (const auto* error = std::get_if<Error>(&now)) return failure(*error);
  const bool there = std::holds_alternative<Present>(now);
  if (std::holds_alternative<Present>(after)) {
    return there ? Result<void>() : run({"mkdir", "--mode=0755", "--", path}, node);
  }
  if (!there) return {};
  SPARK_TRY(const auto names, node.list_directory(path));
  return names.empty() ? run({"rmdir", "--", path}, node) : Result<void>();
}

}  // namespace sparkplan::mount
