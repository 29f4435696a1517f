#include "engine/remote/keys/private_key_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <optional>

#include "engine/core/digest.h"
#include "engine/core/file_descriptor.h"
#include "engine/core/text.h"

namespace sparkplan {
namespace {

constexpr std::string_view kBegin = "-----BEGIN OPENSSH PRIVATE KEY-----";
constexpr std::string_view kEnd = "-----END OPENSSH PRIVATE KEY-----";
constexpr std::string_view kMagic{"openssh-key-v1\0", 15};
constexpr std::size_t kLargestKeyFile = std::size_t{64} << 10;

std::optional<std::uint32_t> take_number(std::string_view& bytes) {
  if (bytes.size() < 4) return std::nullopt;
  std::uint32_t number = 0;
  for (const char c : bytes.substr(0, 4)) number = number << 8U | static_cast<unsigned char>(c);
  bytes.remove_prefix(4);
  return number;
}

std::optional<std::string_view> take_text(std::string_view& bytes) {
  const auto size = take_number(bytes);
  if (!size || *size > bytes.size()) return std::nullopt;
  const auto text = bytes.substr(0, *size);
  bytes.remove_prefix(*size);
  return text;
}

/// The bytes of an OpenSSH private key file; nothing for another format.
std::optional<std::string> openssh_bytes(std::string_view text) {
  const auto begin = text.find(kBegin);
  const auto end = text.find(kEnd);
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return std::nullopt;
  std::string base64;
  for (const char c : text.substr(begin + kBegin.size(), end - begin - kBegin.size())) {
    if (c != '\n' && c != '\r' && c != ' ') base64 += c;
  }
  return base64_decode(base64);
}

}  // namespace

PrivateKeyForm form_of_private_key(std::string_view text) {
  PrivateKeyForm form;
  const auto decoded = openssh_bytes(text);
  if (!decoded) {
    form.encrypted = text.find("-----BEGIN ENCRYPTED PRIVATE KEY-----") != std::string_view::npos ||
                     text.find("Proc-Type: 4,ENCRYPTED") != std::string_view::npos;
    return form;
  }
  std::string_view rest = *decoded;
  if (!rest.starts_with(kMagic)) return form;
  rest.remove_prefix(kMagic.size());
  const auto cipher = take_text(rest);
  const auto function = take_text(rest);
  const auto options = take_text(rest);
  const auto count = take_number(rest);
  const auto key = take_text(rest);
  if (!cipher || !function || !options || !count || !key) return form;
  form.encrypted = *cipher != "none";
  std::string_view inside = *key;
  const auto type = take_text(inside);
  if (*count != 1 || !type) return form;
  form.type = printable(*type);
  form.public_key = base64_encode(*key);
  return form;
}

Result<std::string> read_private_key(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid()) return failure(system_error("open " + path, errno));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return failure(system_error("stat " + path, errno));
  if (!S_ISREG(status.st_mode)) return failure(ErrorCode::kUnsupported, path + " is not a regular file");
  return read_up_to(file.get(), kLargestKeyFile, path);
}

}  // namespace sparkplan
