#pragma once

#include <exception>
#include <string>
#include <utility>

#include "engine/core/result.h"

namespace sparkplan {

/// The last line of defence around work on one node's data. It is no control flow: errors are values, and an exception
/// that arrives here is a bug or exhausted memory. It must not end the work for the other nodes.
/// Calls `work()`. An exception becomes that node's failure: `fail(Error)` with code kFailed.
template <class Work, class Fail>
void last_line(Work&& work, Fail&& fail) {
  const auto escaped = [](const char* what) {
    return Error{ErrorCode::kFailed,
                 std::string("an exception occurred while processing the node's data: ") + what,
                 {},
                 std::nullopt,
                 "please report this; the other nodes are not affected"};
  };
  try {
    std::forward<Work>(work)();
  } catch (const std::exception& exception) {
    std::forward<Fail>(fail)(escaped(exception.what()));
  } catch (...) {
    std::forward<Fail>(fail)(escaped("unknown type"));
  }
}

}  // namespace sparkplan
