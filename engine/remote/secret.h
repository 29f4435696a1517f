#pragma once

#include <memory>
#include <string_view>

#include "engine/core/result.h"

namespace sparkplan {

/// A password. Its only copy lies in a page of memory that is locked, left out of core dumps and not handed on to child
/// processes; copies of the object share that page, which is wiped when the last of them goes. While any secret is
/// held, the process writes no core and cannot be traced by others of its user (PR_SET_DUMPABLE).
class Secret {
 public:
  /// No password.
  Secret() = default;

  /// The rest of the line on `descriptor`, without its end. It is never in memory of another kind.
  /// Errors: kInvalidInput over 1023 bytes, kFailed when memory cannot be locked (RLIMIT_MEMLOCK).
  static Result<Secret> read_line(int descriptor);
  /// Errors: as read_line(). What `text` lies in is the caller's to wipe.
  static Result<Secret> copy_of(std::string_view text);

  bool empty() const { return text().empty(); }
  /// Valid as long as the object, and followed by a NUL. Nothing may keep a copy.
  std::string_view text() const;
  /// The same with a newline behind it, as sudo reads it.
  std::string_view line() const;

 private:
  class Page;
  explicit Secret(std::shared_ptr<const Page> page) : page_(std::move(page)) {}

  std::shared_ptr<const Page> page_;
};

}  // namespace sparkplan
