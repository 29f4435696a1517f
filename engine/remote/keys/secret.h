#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>

#include "engine/core/result.h"

namespace sparkplan {

/// A password, or the value of a secret in cluster.yaml. Its only copy is in memory pages that are locked, left out of
/// core dumps and not inherited by child processes. Copies of the object share that page, which is wiped when the last
/// one is destroyed. While any secret exists, the process writes no core and other processes of its user cannot trace
/// it (PR_SET_DUMPABLE).
class Secret {
 public:
  /// No password.
  Secret() = default;

  /// The rest of the line on `descriptor`, without its end. It is never copied to other memory.
  /// Errors: kInvalidInput over 1023 bytes, kFailed when memory cannot be locked (RLIMIT_MEMLOCK).
  static Result<Secret> read_line(int descriptor);
  /// Errors: as read_line(). The caller must wipe the memory of `text`.
  static Result<Secret> copy_of(std::string_view text);

  /// Up to `most` bytes that `fill` writes directly into the locked memory. It returns their number, or an error.
  /// Errors: those of `fill`, and kFailed when memory cannot be locked.
  using Fill = std::function<Result<std::size_t>(char* memory, std::size_t most)>;
  static Result<Secret> filled_by(std::size_t most, const Fill& fill);

  bool empty() const { return text().empty(); }
  /// Valid as long as the object, and followed by a NUL. Callers must not keep a copy.
  std::string_view text() const;
  /// The text followed by a newline, as sudo reads it.
  std::string_view line() const;

 private:
  class Page;
  explicit Secret(std::shared_ptr<const Page> page) : page_(std::move(page)) {}

  std::shared_ptr<const Page> page_;
};

}  // namespace sparkplan
