#include "engine/resource/accounts.h"

#include "engine/core/text.h"
#include "engine/core/words.h"

namespace sparkplan {
namespace {

/// Without nsswitch.conf, or without its passwd line, glibc asks the files first.
bool files_come_first(const NodeReader& node) {
  const Result<std::string> text = node.read_file("/etc/nsswitch.conf");
  if (!text) return text.error().code == ErrorCode::kNotFound;
  for (const std::string_view line : split_lines(*text)) {
    constexpr std::string_view kDatabase = "passwd:";
    if (!trim(line).starts_with(kDatabase)) continue;
    const std::vector<std::string> services = words_of(trim(line).substr(kDatabase.size()));
    return !services.empty() && services.front() == "files";
  }
  return true;
}

}  // namespace

std::optional<std::string> passwd_file(const NodeReader& node) {
  if (!node.live() || !files_come_first(node)) return std::nullopt;
  Result<std::string> text = node.read_file("/etc/passwd");
  if (!text) return std::nullopt;
  return *std::move(text);
}

std::optional<std::string> passwd_line(const std::string& user, const NodeReader& node) {
  const auto text = passwd_file(node);
  if (!text) return std::nullopt;
  for (const std::string_view line : split_lines(*text)) {
    if (line.starts_with(user + ":")) return std::string(line);
  }
  return std::nullopt;
}

}  // namespace sparkplan
