#include "engine/cli/output/report_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "engine/cli/output/new_file.h"
#include "engine/core/text.h"

namespace sparkplan {
namespace {

std::filesystem::path whole_path(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::weakly_canonical(std::filesystem::absolute(path, ignored), ignored);
}

}  // namespace

Result<void> check_report_path(const std::string& path) {
  if (path.empty()) return {};
  const auto directory = std::filesystem::path(path).parent_path();
  if (::access(directory.empty() ? "." : directory.c_str(), W_OK | X_OK) != 0) {
    return failure(system_error("write " + path, errno));
  }
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {};
  if (S_ISDIR(status.st_mode)) return failure(system_error("write " + path, EISDIR));
  if (S_ISREG(status.st_mode)) return {};
  return failure(ErrorCode::kInvalidInput, printable(path) + " is no file: it is not replaced", "name a file");
}

Result<void> check_different_files(const std::string& one, const std::string& other, const std::string& flags) {
  if (one.empty() || other.empty() || whole_path(one) != whole_path(other)) return {};
  return failure(ErrorCode::kInvalidInput, flags + " name the same file", "name two files");
}

PageContext page_context(const LoadedCluster& loaded) { return {*loaded.cluster, SPARKPLAN_VERSION}; }

Result<void> write_report(const std::string& path, const std::string& text) { return write_new_file(path, text, true); }

}  // namespace sparkplan
