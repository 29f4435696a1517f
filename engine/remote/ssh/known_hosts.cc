#include "engine/remote/ssh/known_hosts.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "engine/core/file_descriptor.h"
#include "engine/core/text.h"
#include "engine/process/own_user.h"
#include "engine/remote/ssh/ssh_session.h"

namespace sparkplan {
namespace {

constexpr const char* kOfTheSystem = "/etc/ssh/ssh_known_hosts";
constexpr std::size_t kMostBytes = std::size_t{16} << 20;

struct EntryDeleter {
  void operator()(ssh_knownhosts_entry* entry) const { ssh_knownhosts_entry_free(entry); }
};

std::vector<std::string> files_of(const SshStation& station) {
  std::vector<std::string> files = station.known_hosts;
  files.emplace_back(kOfTheSystem);
  return files;
}

/// The text of a known_hosts file; empty without one, and for a file that is not regular, such as /dev/null.
Result<std::string> text_of(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid() && (errno == ENOENT || errno == ENOTDIR)) return std::string();
  const auto unreadable = [&](const std::string& why) {
    return failure(ErrorCode::kUntrusted, path + " cannot be read: " + why, "without it no host key can be checked");
  };
  if (!file.valid()) return unreadable(system_error("open", errno).describe());
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return unreadable(system_error("stat", errno).describe());
  if (!S_ISREG(status.st_mode)) return std::string();
  if (static_cast<std::size_t>(status.st_size) > kMostBytes) return unreadable("it has more than 16 MiB");
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const auto count = ::read(file.get(), text.data() + size, text.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return unreadable(system_error("read", errno).describe());
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
  }
  text.resize(size);
  return text;
}

}  // namespace

Result<std::vector<KnownHostKey>> known_host_keys(const SshStation& station) {
  const std::string host = lower_case(station.known_name());
  std::vector<KnownHostKey> keys;
  for (const std::string& file : files_of(station)) {
    SPARK_TRY(const std::string text, text_of(file));
    std::size_t number = 0;
    for (const auto line : split_lines(text)) {
      ++number;
      const std::string entry_text(trim(line));
      // libssh would take "@revoked" for a host.
      if (entry_text.empty() || entry_text.front() == '#' || entry_text.front() == '@') continue;
      ssh_knownhosts_entry* raw = nullptr;
      const int answer = ssh_known_hosts_parse_line(host.c_str(), entry_text.c_str(), &raw);
      const std::unique_ptr<ssh_knownhosts_entry, EntryDeleter> entry(raw);
      if (answer != SSH_OK || !entry || entry->publickey == nullptr) continue;
      keys.push_back(
          {ssh::fingerprint_of(entry->publickey), ssh_key_type_to_char(ssh_key_type(entry->publickey)), file, number});
    }
  }
  return keys;
}

bool is_revoked(std::string_view known_hosts, std::string_view key_base64) {
  for (const auto line : split_lines(known_hosts)) {
    const auto text = trim(line);
    if (text.rfind("@revoked", 0) != 0) continue;
    std::string blanks(text);
    std::replace(blanks.begin(), blanks.end(), '\t', ' ');
    for (const auto field : split(blanks, ' ')) {
      if (!key_base64.empty() && trim(field) == key_base64) return true;
    }
  }
  return false;
}

namespace ssh {

std::string fingerprint_of(ssh_key key) {
  unsigned char* hash = nullptr;
  std::size_t length = 0;
  if (ssh_get_publickey_hash(key, SSH_PUBLICKEY_HASH_SHA256, &hash, &length) != SSH_OK) return {};
  char* text = ssh_get_fingerprint_hash(SSH_PUBLICKEY_HASH_SHA256, hash, length);
  ssh_clean_pubkey_hash(&hash);
  std::string fingerprint = text != nullptr ? text : "";
  ssh_string_free_char(text);
  return fingerprint;
}

Result<bool> is_revoked_for(const SshStation& station, const std::string& key_base64) {
  auto files = files_of(station);
  // A key that is revoked for one host is for all of them, wherever the user looks hosts up.
  for (const char* usual : {"~/.ssh/known_hosts", "~/.ssh/known_hosts2"}) files.push_back(expand_home(usual));
  for (const std::string& file : files) {
    SPARK_TRY(const std::string text, text_of(file));
    if (is_revoked(text, key_base64)) return true;
  }
  return false;
}

}  // namespace ssh
}  // namespace sparkplan
