#include "engine/resource/account_numbers.h"

#include <charconv>
#include <chrono>
#include <string_view>
#include <vector>

#include "engine/core/text.h"

namespace sparkplan {
namespace {

constexpr std::chrono::seconds kDeadline{10};
constexpr int kGetentNotFound = 2;
constexpr std::size_t kNumberField = 2;
constexpr std::size_t kLongestAccountDatabase = std::size_t{16} << 20;

/// The third field of the line for `name`. Source: passwd(5), group(5).
std::optional<std::int64_t> number_in(std::string_view text, const std::string& name) {
  for (const std::string_view line : split_lines(text)) {
    if (!line.starts_with(name + ":")) continue;
    const std::vector<std::string_view> fields = split(line, ':');
    if (fields.size() <= kNumberField) continue;
    const std::string_view digits = fields[kNumberField];
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error == std::errc() && end == digits.data() + digits.size()) return number;
  }
  return std::nullopt;
}

}  // namespace

Result<std::optional<std::int64_t>> account_number(AccountDatabase database, const std::string& name,
                                                   const NodeReader& node) {
  const std::string kind = database == AccountDatabase::kUsers ? "passwd" : "group";
  SPARK_TRY(const std::string text, or_empty(node.read_file("/etc/" + kind, kLongestAccountDatabase)));
  if (const auto number = number_in(text, name)) return number;
  if (!node.live()) return std::optional<std::int64_t>();
  // Not in the files: a directory service may have it.
  const std::vector<std::string> argv{"getent", kind, "--", name};
  SPARK_TRY(const auto output, if_there(node.query(argv, kDeadline)));
  if (!output) return std::optional<std::int64_t>();
  if (output->exit_status != 0 && output->exit_status != kGetentNotFound) {
    return failure(ErrorCode::kFailed,
                   "getent " + kind + " " + name + " ended with status " + std::to_string(output->exit_status));
  }
  return number_in(output->standard_output, name);
}

}  // namespace sparkplan
