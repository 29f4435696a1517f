#pragma once

#include <functional>
#include <memory>
#include <string>

#include "engine/core/result.h"
#include "engine/remote/keys/secret.h"

struct ssh_key_struct;

namespace sparkplan {

/// Private keys whose passphrase the user has given, for all connections of a run. Used from any thread.
class UnlockedKeys {
 public:
  /// Asks for the passphrase of a key file; `again`: the last one was wrong.
  /// Errors: any, such as no terminal.
  using Ask = std::function<Result<Secret>(const std::string& file, bool again)>;

  explicit UnlockedKeys(Ask ask);
  UnlockedKeys(const UnlockedKeys&) = delete;
  UnlockedKeys& operator=(const UnlockedKeys&) = delete;
  ~UnlockedKeys();

  /// A copy of the key for one session, which the caller frees; null if it was not unlocked.
  ssh_key_struct* copy_of(const std::string& path) const;

  /// Asks for the passphrase, up to three times and once for all threads. `shown` is the path as messages show it.
  /// Errors: kPermissionDenied without the right passphrase, also if an earlier call did not get it; kInterrupted,
  /// also after an earlier call that was: a stop ends all questions.
  Result<void> unlock(const std::string& path, const std::string& shown);

 private:
  struct Keys;
  Ask ask_;
  std::unique_ptr<Keys> keys_;
};

}  // namespace sparkplan
