#include "engine/cli/output/report_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "engine/cli/output/new_file.h"

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
    const int number = errno;
    if (number == ENOENT) {
      return failure(ErrorCode::kInvalidInput, path + ": there is no directory " + directory.string(),
                     "create it, or name another file");
    }
    Error error = system_error("write " + path, number);
    error.hint = "name a file in a directory that you may write to";
    return failure(std::move(error));
  }
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {};
  if (S_ISREG(status.st_mode)) return {};
  const char* const what = S_ISDIR(status.st_mode) ? " is a directory" : " is not a regular file";
  return failure(ErrorCode::kInvalidInput, path + what + ": it is not replaced", "name a file");
}

Result<void> check_different_files(const std::string& one, const std::string& other, const std::string& flags) {
  if (one.empty() || other.empty() || whole_path(one) != whole_path(other)) return {};
  return failure(ErrorCode::kInvalidInput, flags + " name the same file", "name two files");
}

PageContext page_context(const LoadedCluster& loaded) { return {*loaded.cluster, SPARKPLAN_VERSION}; }

Result<void> write_report(const std::string& path, const std::string& text) { return write_new_file(path, text, true); }

}  // namespace sparkplan
