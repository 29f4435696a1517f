#include "resources/ssh_trust/key_files.h"

#include <algorithm>
#include <utility>

#include "engine/core/digest.h"
#include "engine/core/text.h"
#include "engine/resource/artifact.h"
#include "engine/resource/managed_block.h"

namespace sparkplan::ssh_trust {
namespace {

constexpr std::uint32_t kModeOfNewFile = 0600;
/// Enough for the lines of 1000 nodes at their maximum length.
constexpr std::size_t kLargestListed = std::size_t{1} << 20;
constexpr std::ptrdiff_t kMostLinesListed = 4096;

Error in_file(Error error, const Account& account) {
  return std::move(error).within(account.in_home(kAuthorizedKeys).path().string());
}

/// The user may put anything between our markers. Binary or very large content is replaced by a one-line summary.
bool can_be_listed(std::string_view block) {
  const bool plain =
      std::ranges::none_of(block, [](unsigned char c) { return (c < ' ' && c != '\n' && c != '\t') || c == 0x7F; });
  return block.size() <= kLargestListed && std::ranges::count(block, '\n') <= kMostLinesListed && plain &&
         is_valid_utf8(block);
}

Observation observed(std::string block) {
  if (can_be_listed(block)) return block_present(std::move(block));
  const std::string what = std::to_string(block.size()) + " bytes that are not sparkplan's, SHA-256 " + sha256(block);
  return Present{Value::map({{std::string(kNotListed), what}}), {}};
}

}  // namespace

Observation read_authorized_keys(const Account& account, const NodeReader& node) {
  const UserPath path = account.in_home(kAuthorizedKeys);
  const Result<std::optional<UserFile>> file = read_with_status(path, kLargestFileWithBlock, node);
  if (!file) return file.error();
  if (!*file) return Absent{};
  Result<std::optional<std::string>> block = find_block((*file)->bytes);
  if (!block) return in_file(std::move(block).error(), account);
  if (!*block) return Absent{};
  return observed(**std::move(block));
}

Result<void> apply_authorized_keys(const Account& account, const Observation& after, Node& node) {
  SPARK_TRY(const UserPath path, checked_path(account, kAuthorizedKeys, node));
  const std::optional<std::string> body = content_of(after);
  SPARK_TRY(const std::optional<UserFile> now, read_with_status(path, kLargestFileWithBlock, node));
  if (!now && !body) return {};
  Result<std::string> text = replace_block(now ? std::string_view(now->bytes) : std::string_view(), body);
  if (!text) return failure(in_file(std::move(text).error(), account));
  if (text->empty()) return node.remove_user_file(path);
  if (now && now->bytes == *text) return {};
  SPARK_CHECK(check_file_with_block(path.path(), now ? std::optional(now->bytes.size()) : std::nullopt, text->size()));
  FileContent content{*std::move(text), kModeOfNewFile, account.uid, account.gid};
  if (now) {
    content.mode = now->status.mode;
    content.uid = now->status.uid;
    content.gid = now->status.gid;
  }
  return node.write_user_file(path, content);
}

}  // namespace sparkplan::ssh_trust
