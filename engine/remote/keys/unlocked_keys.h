#pragma once

#include <functional>
#include <memory>
#include <string>

#include "engine/core/result.h"
#include "engine/remote/keys/secret.h"

struct ssh_key_struct;

namespace sparkplan {

/// A question for the passphrase of a key.
struct KeyQuestion {
  std::string file;    ///< As messages show it.
  std::string server;  ///< The one that accepts the key, and causes the question: "spark-01".
  bool again = false;  ///< The last passphrase was wrong.
};

/// Private keys whose passphrase the user has given, for all connections of a run. Used from any thread.
class UnlockedKeys {
 public:
  /// Errors: any, such as no terminal.
  using Ask = std::function<Result<Secret>(const KeyQuestion& question)>;

  explicit UnlockedKeys(Ask ask);
  UnlockedKeys(const UnlockedKeys&) = delete;
  UnlockedKeys& operator=(const UnlockedKeys&) = delete;
  ~UnlockedKeys();

  /// A copy of the key for one session, which the caller frees; null if it was not unlocked.
  ssh_key_struct* copy_of(const std::string& path) const;

  /// From now on connections to this node only use what is unlocked. A node chooses which keys it accepts, and the
  /// user may be away by then, or the node on trial.
  void connected_to(const std::string& node);
  bool was_connected_to(const std::string& node) const;

  /// Asks for the passphrase, up to three times and once for all threads. `shown` is the path as messages show it;
  /// `server` as in KeyQuestion.
  /// Errors: kPermissionDenied without the right passphrase, also if an earlier call did not get it; kInterrupted,
  /// also after an earlier call that was: a stop ends all questions.
  Result<void> unlock(const std::string& path, const std::string& shown, const std::string& server);

 private:
  struct Keys;
  Ask ask_;
  std::unique_ptr<Keys> keys_;
};

}  // namespace sparkplan
