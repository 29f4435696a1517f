#include "engine/nccl/environment.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "engine/core/text.h"

namespace sparkplan::nccl {
namespace {

constexpr std::array<const char*, 5> kKept{"HOME", "USER", "LOGNAME", "PATH", "TMPDIR"};

}  // namespace

void take_environment(const std::map<std::string, std::string>& environment, const std::string& log_file) {
  std::map<std::string, std::string> wanted;
  for (const char* name : kKept) {
    if (const char* value = std::getenv(name)) wanted[name] = value;
  }
  wanted["NCCL_CONF_FILE"] = "/dev/null";
  for (const auto& [name, value] : environment) wanted[name] = value;
  wanted["NCCL_DEBUG"] = "INFO";
  wanted["NCCL_DEBUG_SUBSYS"] = "INIT,NET";
  wanted["NCCL_DEBUG_FILE"] = log_file;
  ::clearenv();
  for (const auto& [name, value] : wanted) ::setenv(name.c_str(), value.c_str(), 1);
}

std::vector<std::string> other_variables(std::string_view conf, const std::map<std::string, std::string>& environment) {
  std::vector<std::string> others;
  for (const auto line : split_lines(conf)) {
    const auto equals = line.find('=');
    if (line.starts_with("#") || equals == std::string_view::npos) continue;
    auto name = std::string(line.substr(0, equals));
    if (environment.contains(name) || std::find(others.begin(), others.end(), name) != others.end()) continue;
    others.push_back(std::move(name));
  }
  return others;
}

Result<std::int64_t> available_memory(std::string_view meminfo) {
  constexpr std::string_view kKey = "MemAvailable:";
  for (const auto line : split_lines(meminfo)) {
    if (!line.starts_with(kKey)) continue;
    const auto text = trim(line.substr(kKey.size()));
    std::int64_t kibibytes = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), kibibytes).ec == std::errc()) return kibibytes * 1024;
  }
  return failure(ErrorCode::kUnsupported, "/proc/meminfo has no MemAvailable");
}

Result<std::string> read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return failure(system_error("read " + path, errno));
  return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace sparkplan::nccl
