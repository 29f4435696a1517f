#pragma once

#include <stdlib.h>

#include <string>
#include <vector>

#include "engine/process/child_process.h"
#include "tests/support/catch.h"

namespace sparkplan::test {

/// Runs the built program to its end, without a terminal and without any of the user's files.
inline CapturedOutput sparkplan(std::vector<std::string> arguments) {
  ::unsetenv("SPARKPLAN_CLUSTER");
  // No log of runs can be written there.
  ::setenv("XDG_STATE_HOME", "/dev/null", 1);
  arguments.insert(arguments.begin(), SPARKPLAN_BINARY);
  // A separate session has no terminal on which to ask.
  arguments.insert(arguments.begin(), {std::string("setsid"), std::string("--wait")});
  auto output = run_and_capture(arguments, {std::chrono::minutes(2)});
  REQUIRE(output);
  return std::move(*output);
}

inline bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace sparkplan::test
