#include "engine/remote/keys/unlocked_keys.h"

#include <libssh/libssh.h>

#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "engine/remote/keys/private_key_file.h"
#include "engine/remote/keys/ssh_key_pointer.h"

namespace sparkplan {
namespace {

using ssh::KeyPointer;

constexpr int kMostAttempts = 3;

/// A private key without encryption, wiped when it is freed.
struct TextDeleter {
  void operator()(char* text) const {
    ::explicit_bzero(text, std::strlen(text));
    ssh_string_free_char(text);
  }
};
using KeyText = std::unique_ptr<char, TextDeleter>;

/// Null if it is not a key, or has another passphrase. `passphrase` may be null.
KeyPointer imported(const char* text, const char* passphrase) {
  ssh_key key = nullptr;
  if (ssh_pki_import_privkey_base64(text, passphrase, nullptr, nullptr, &key) != SSH_OK) return nullptr;
  return KeyPointer(key);
}

/// Null if libssh cannot write this kind of key.
KeyText exported(const KeyPointer& key) {
  char* text = nullptr;
  if (ssh_pki_export_privkey_base64(key.get(), nullptr, nullptr, nullptr, &text) != SSH_OK) return nullptr;
  return KeyText(text);
}

std::string load_into_agent(const std::string& shown) {
  return "load the key into ssh-agent with `ssh-add " + shown + "`";
}

}  // namespace

struct UnlockedKeys::Keys {
  std::mutex asking;             ///< One question at a time.
  std::optional<Error> stopped;  ///< The user stopped the command at a question. Of `asking`.
  mutable std::mutex mutex;      ///< Of the following.
  /// As texts, because libssh 0.9 (Ubuntu 22.04) cannot copy a key (ssh_key_dup), and one key is not for several
  /// threads.
  std::map<std::string, KeyText> by_path;
  std::map<std::string, Error> failed;
  std::set<std::string> connected;  ///< The nodes to which a connection was made.
  /// While a key is in memory, no core dump is written: a Secret sees to that.
  std::vector<Secret> passphrases;
};

UnlockedKeys::UnlockedKeys(Ask ask) : ask_(std::move(ask)), keys_(std::make_unique<Keys>()) {}
UnlockedKeys::~UnlockedKeys() = default;

ssh_key_struct* UnlockedKeys::copy_of(const std::string& path) const {
  const std::lock_guard lock(keys_->mutex);
  const auto found = keys_->by_path.find(path);
  return found == keys_->by_path.end() ? nullptr : imported(found->second.get(), nullptr).release();
}

void UnlockedKeys::connected_to(const std::string& node) {
  const std::lock_guard lock(keys_->mutex);
  keys_->connected.insert(node);
}

bool UnlockedKeys::was_connected_to(const std::string& node) const {
  const std::lock_guard lock(keys_->mutex);
  return keys_->connected.contains(node);
}

Result<void> UnlockedKeys::unlock(const std::string& path, const std::string& shown, const std::string& server) {
  const std::lock_guard one_question(keys_->asking);
  // The connections to the other nodes wait here, and must not ask again.
  if (keys_->stopped) return failure(*keys_->stopped);
  {
    const std::lock_guard lock(keys_->mutex);
    if (keys_->by_path.contains(path)) return {};
    if (const auto earlier = keys_->failed.find(path); earlier != keys_->failed.end()) return failure(earlier->second);
  }
  SPARK_TRY(const std::string text, read_private_key(path));
  auto error = make_error(ErrorCode::kPermissionDenied, "the passphrase of the key " + shown + " was wrong",
                          "run the command again, or " + load_into_agent(shown));
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    auto passphrase = ask_({shown, server, attempt > 0});
    if (!passphrase && passphrase.error().code == ErrorCode::kInterrupted) {
      keys_->stopped = passphrase.error();
      return failure(passphrase.error());
    }
    if (!passphrase || passphrase->empty()) {
      error.message = "the key " + shown + " has a passphrase" +
                      (passphrase ? ", and none was given" : ", and " + passphrase.error().describe());
      if (!passphrase) error.hint = "run sparkplan on a terminal, or " + load_into_agent(shown);
      break;
    }
    const auto key = imported(text.c_str(), passphrase->text().data());
    if (!key) continue;
    auto plain = exported(key);
    if (!plain) {
      error.message = "the key " + shown + " is of a kind that libssh cannot keep";
      error.hint = load_into_agent(shown);
      break;
    }
    const std::lock_guard lock(keys_->mutex);
    keys_->by_path.emplace(path, std::move(plain));
    keys_->passphrases.push_back(*std::move(passphrase));
    return {};
  }
  const std::lock_guard lock(keys_->mutex);
  keys_->failed.emplace(path, error);
  return failure(std::move(error));
}

}  // namespace sparkplan
