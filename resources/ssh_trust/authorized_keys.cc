#include "resources/ssh_trust/authorized_keys.h"

#include <optional>
#include <string>
#include <utility>

#include "engine/resource/artifact.h"
#include "engine/resource/managed_block.h"

namespace sparkplan::ssh_trust {
namespace {

constexpr std::uint32_t kModeOfNewFile = 0600;

Result<std::optional<std::string>> read_whole_file(const Account& account, const NodeReader& node) {
  Result<std::string> text = node.read_user_file(account.in_home(kAuthorizedKeys));
  if (text) return std::optional<std::string>(*std::move(text));
  if (text.error().code == ErrorCode::kNotFound) return std::optional<std::string>();
  return failure(std::move(text).error());
}

Error in_file(Error error, const Account& account) {
  return std::move(error).within(account.in_home(kAuthorizedKeys).path().string());
}

}  // namespace

Observation read_authorized_keys(const Account& account, const NodeReader& node) {
  const Result<std::optional<std::string>> text = read_whole_file(account, node);
  if (!text) return text.error();
  if (!*text) return Absent{};
  Result<std::optional<std::string>> block = find_block(**text);
  if (!block) return in_file(std::move(block).error(), account);
  if (!*block) return Absent{};
  return block_present(**std::move(block));
}

Result<void> apply_authorized_keys(const Account& account, const Observation& after, Node& node) {
  const UserPath path = account.in_home(kAuthorizedKeys);
  const std::optional<std::string> body = content_of(after);
  SPARK_TRY(const std::optional<std::string> now, read_whole_file(account, node));
  if (!now && !body) return {};
  Result<std::string> text = replace_block(now.value_or(""), body);
  if (!text) return failure(in_file(std::move(text).error(), account));
  if (text->empty()) return node.remove_user_file(path);
  if (now == *text) return {};
  FileContent content{*std::move(text), kModeOfNewFile, account.uid, account.gid};
  if (now) {
    SPARK_TRY(const FileStatus status, node.user_status(path));
    content.mode = status.mode;
    content.uid = status.uid;
    content.gid = status.gid;
  }
  return node.write_user_file(path, content);
}

}  // namespace sparkplan::ssh_trust
