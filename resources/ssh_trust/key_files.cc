#include "resources/ssh_trust/key_files.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

#include "engine/core/digest.h"
#include "engine/core/number_format.h"
#include "engine/core/text.h"
#include "engine/resource/artifact.h"
#include "engine/resource/managed_block.h"
#include "resources/ssh_trust/public_key.h"

namespace sparkplan::ssh_trust {
namespace {

constexpr std::chrono::seconds kMakingDeadline{30};
constexpr const char* kPrivateMode = "0600";
constexpr std::uint32_t kPublicMode = 0644;
constexpr std::string_view kOtherOwner = "user number ";
constexpr const char* kComment = "comment";
constexpr const char* kPublicFile = "public_file";
constexpr const char* kNoPublicKey = "public_file_is_no_public_key";

std::uint32_t number_of(std::string_view text, int base) {
  std::uint32_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number, base);
  return number;
}

struct PrivateKey {
  FileContent file;
  std::string public_part;
};

Result<std::optional<PrivateKey>> read_private_key(const UserPath& path, const NodeReader& node) {
  SPARK_TRY(std::optional<FileContent> file, read_with_status(path, kLargestKeyFile, node));
  if (!file) return std::optional<PrivateKey>();
  Result<std::string> part = public_part(file->bytes);
  if (!part) return failure(std::move(part).error().within(path.path().string()));
  return PrivateKey{*std::move(file), *std::move(part)};
}

Result<std::optional<std::string>> read_public_file(const UserPath& path, const NodeReader& node) {
  return if_there(node.read_user_file(path, kLargestKeyFile));
}

/// True if the public file's text may be copied into a Value. Other text may contain a private key, and Values travel
/// and are stored.
bool is_one_public_key(std::string_view file) {
  const std::string_view line = trim(file);
  const bool one_line = std::ranges::none_of(line, [](unsigned char c) { return (c < ' ' && c != '\t') || c == 0x7F; });
  return one_line && parse_public_key(line).has_value();
}

/// The file of a new key, made where other users cannot read it.
Result<std::string> make_private_key(const std::string& comment, Node& node) {
  SPARK_TRY(const std::filesystem::path scratch, node.make_scratch_directory());
  const std::filesystem::path file = scratch / "key";
  const std::vector<std::string> argv{"ssh-keygen", "-q",    "-t", std::string(kKeyType), "-N", "",
                                      "-C",         comment, "-f", file.string()};
  SPARK_TRY(const CommandOutput output, node.run(argv, kMakingDeadline));
  if (output.exit_status != 0) {
    return failure(ErrorCode::kFailed, "ssh-keygen created no key: " + std::string(trim(output.standard_error)));
  }
  SPARK_TRY(std::string bytes, node.read_file(file, kLargestKeyFile));
  SPARK_CHECK(node.remove_file(file));
  return bytes;
}

struct Owner {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
};

Owner owner_of(const Value& value, const Account& account, const std::optional<PrivateKey>& now) {
  const std::string text = value.text_or("owner", account.name);
  Owner owner{account.uid, account.gid};
  if (text.starts_with(kOtherOwner)) owner.uid = number_of(std::string_view(text).substr(kOtherOwner.size()), 10);
  if (now && now->file.uid == owner.uid) owner.gid = now->file.gid;
  return owner;
}

Result<void> write_public_file(const Account& account, const Value& value, const std::string& public_part, Node& node) {
  std::optional<std::string> wanted;
  if (value.find(kComment) != nullptr) {
    wanted = public_part + " " + value.text_or(kComment, "") + "\n";
  } else if (value.find(kPublicFile) != nullptr) {
    wanted = value.text_or(kPublicFile, "");
  }
  // Checked again: the directory may have been created with the private key just now.
  SPARK_TRY(const UserPath path, checked_path(account, kPublicKey, node));
  SPARK_TRY(const std::optional<std::string> now, read_public_file(path, node));
  if (now == wanted) return {};
  // The earlier content is unknown: it stays unless it was replaced since.
  if (now && value.find(kNoPublicKey) != nullptr && !is_one_public_key(*now)) return {};
  if (!wanted) return node.remove_user_file(path);
  return node.write_user_file(path, {*wanted, kPublicMode, account.uid, account.gid});
}

Result<void> write_key(const Account& account, const Value& value, Node& node) {
  SPARK_TRY(const UserPath path, checked_path(account, kPrivateKey, node));
  SPARK_TRY(std::optional<PrivateKey> key, read_private_key(path, node));
  const Owner owner = owner_of(value, account, key);
  const std::uint32_t mode = number_of(value.text_or("mode", kPrivateMode), 8);
  const bool in_place = key && key->file.mode == mode && key->file.uid == owner.uid;
  if (!key) {
    SPARK_TRY(std::string bytes, make_private_key(value.text_or(kComment, ""), node));
    SPARK_TRY(std::string part, public_part(bytes));
    key = PrivateKey{private_file(std::move(bytes)), std::move(part)};
  }
  if (!in_place) {
    SPARK_CHECK(node.write_user_file(path, {key->file.bytes, mode, owner.uid, owner.gid}));
  }
  return write_public_file(account, value, key->public_part, node);
}

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

Observation key_in_order(const std::string& user, std::string_view comment) {
  return Present{Value::map({{"type", kKeyType}, {"owner", user}, {"mode", kPrivateMode}, {kComment, comment}}), {}};
}

Observation read_key(const Account& account, const NodeReader& node) {
  const Result<std::optional<PrivateKey>> key = read_private_key(account.in_home(kPrivateKey), node);
  if (!key) return key.error();
  if (!*key) return Absent{};
  const Result<std::optional<std::string>> file = read_public_file(account.in_home(kPublicKey), node);
  if (!file) return file.error();
  const FileContent& private_key = (*key)->file;
  const bool own = private_key.uid == account.uid;
  Value value = Value::map({{"type", kKeyType},
                            {"owner", own ? account.name : std::string(kOtherOwner) + std::to_string(private_key.uid)},
                            {"mode", file_mode_text(private_key.mode)}});
  if (*file && !is_one_public_key(**file)) {
    value.set(kNoPublicKey, true);
  } else if (*file && parse_public_key(**file) == (*key)->public_part) {
    value.set(kComment, comment_of(**file));
  } else if (*file) {
    value.set(kPublicFile, **file);
  }
  return Present{std::move(value), {}};
}

Result<void> apply_key(const Account& account, const Observation& after, Node& node) {
  if (const auto* present = std::get_if<Present>(&after)) return write_key(account, present->value, node);
  // The private key is removed last: as long as it exists, the public file can be made again.
  SPARK_TRY(const UserPath public_file, checked_path(account, kPublicKey, node));
  SPARK_CHECK(node.remove_user_file(public_file));
  SPARK_TRY(const UserPath private_file, checked_path(account, kPrivateKey, node));
  return node.remove_user_file(private_file);
}

Observation restorable_key(const Observation& key) {
  const auto* present = std::get_if<Present>(&key);
  if (present == nullptr || present->value.find(kNoPublicKey) == nullptr) return key;  // A map from here on.
  Value rest = Value::map();
  for (const MapEntry& field : *present->value.entries()) {
    if (field.key != kNoPublicKey) rest.set(field.key, field.value);
  }
  return Present{std::move(rest), {}};
}

std::string describe_key(const std::string& user, const Observation& key) {
  const auto* present = std::get_if<Present>(&key);
  if (present == nullptr) return {};
  const Value& value = present->value;
  std::string text(kKeyType);
  const bool has_public_file = value.find(kComment) != nullptr;
  if (has_public_file) text += " " + value.text_or(kComment, "");
  if (value.find(kNoPublicKey) != nullptr) {
    text += ", its public file is not a public key";
  } else if (value.find(kPublicFile) != nullptr) {
    text += ", its public file belongs to another key";
  } else if (!has_public_file) {
    text += ", without its public file";
  }
  if (value.text_or("owner", "") != user) text += ", owned by " + value.text_or("owner", "");
  if (value.text_or("mode", "") != kPrivateMode) text += ", mode " + value.text_or("mode", "");
  return text;
}

Result<std::optional<std::string>> public_key_of(const Account& account, const NodeReader& node) {
  SPARK_TRY(std::optional<PrivateKey> key, read_private_key(account.in_home(kPrivateKey), node));
  if (!key) return std::optional<std::string>();
  return std::optional<std::string>(std::move(key->public_part));
}

Observation read_authorized_keys(const Account& account, const NodeReader& node) {
  const UserPath path = account.in_home(kAuthorizedKeys);
  const Result<std::optional<FileContent>> file = read_with_status(path, kLargestFileWithBlock, node);
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
  SPARK_TRY(const std::optional<FileContent> now, read_with_status(path, kLargestFileWithBlock, node));
  if (!now && !body) return {};
  Result<std::string> text = replace_block(now ? std::string_view(now->bytes) : std::string_view(), body);
  if (!text) return failure(in_file(std::move(text).error(), account));
  if (text->empty()) return node.remove_user_file(path);
  if (now && now->bytes == *text) return {};
  SPARK_CHECK(check_file_with_block(path.path(), now ? std::optional(now->bytes.size()) : std::nullopt, text->size()));
  FileContent content{*std::move(text), kModeOfNewFile, account.uid, account.gid};
  if (now) {
    content.mode = now->mode;
    content.uid = now->uid;
    content.gid = now->gid;
  }
  return node.write_user_file(path, content);
}

}  // namespace sparkplan::ssh_trust
