#include "engine/job/secret_variable.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

namespace sparkplan::job {
namespace {

/// The kernel takes no longer text in an environment. Source: execve(2), MAX_ARG_STRLEN.
constexpr std::size_t kLongestValue = std::size_t{128} << 10;

/// A name that stays below its directory.
bool is_file_name(const std::string& name) {
  return !name.empty() && name.front() != '.' && name.find('/') == std::string::npos;
}

bool is_own_file(int file) {
  struct stat status {};
  return ::fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid();
}

std::optional<std::string> text_of(int file) {
  std::string text;
  std::array<char, 4096> buffer{};
  while (true) {
    const auto count = ::read(file, buffer.data(), buffer.size());
    if (count < 0) return std::nullopt;
    if (count == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
    if (text.size() > kLongestValue) return std::nullopt;
  }
}

}  // namespace

std::optional<std::string> secret_variable(const std::string& user, const std::string& name,
                                           const std::string& directory) {
  if (!is_file_name(user) || !is_file_name(name)) return std::nullopt;
  const std::string path = directory + "/" + user + "/" + name;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return std::nullopt;
  std::optional<std::string> value;
  if (is_own_file(file)) {
    // Not by a limit: the program that this process becomes would keep it. execve() sets this flag again.
    ::prctl(PR_SET_DUMPABLE, 0);
    value = text_of(file);
  }
  ::close(file);
  if (!value || value->find('\0') != std::string::npos) return std::nullopt;
  while (value->ends_with('\n')) value->pop_back();
  return value;
}

}  // namespace sparkplan::job
