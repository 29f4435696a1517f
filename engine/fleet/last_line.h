#pragma once

#include <exception>
#include <string>
#include <utility>

#include "engine/core/result.h"

namespace sparkplan {

/// The last line of defence around work that is done with what one node sent, and no control flow: errors are values,
/// and an exception that gets here is a bug of ours or the end of the memory. It must not end what is done for the
/// others. Calls `work()`; what it throws is given to `fail(Error)`, of code kFailed: it is that node's failure.
template <class Work, class Fail>
void last_line(Work&& work, Fail&& fail) {
  const auto escaped = [](const char* what) {
    return Error{ErrorCode::kFailed,
                 std::string("working with what the node sent ended in an exception: ") + what,
                 {},
                 std::nullopt,
                 "the other nodes are not concerned; please report this"};
  };
  try {
    std::forward<Work>(work)();
  } catch (const std::exception& exception) {
    std::forward<Fail>(fail)(escaped(exception.what()));
  } catch (...) {
    std::forward<Fail>(fail)(escaped("of an unknown kind"));
  }
}

}  // namespace sparkplan
