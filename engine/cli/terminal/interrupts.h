#pragma once

#include <stop_token>
#include <string_view>
#include <thread>

#include "engine/cli/terminal/console.h"

namespace sparkplan {

/// Printed after the first and after the second signal: the work that has not ended yet. Both outlive the Interrupts.
struct InterruptWords {
  std::string_view first = "stopping after the current step";
  std::string_view second = "the agents finish the current steps on the nodes";
};

/// Ctrl-C and SIGTERM as a stop token. The first signal asks for an orderly end, the second ends the program at once
/// with exit code 1. A signal during a Screen::Hold, such as a question, prints nothing: its holder ends at the stop.
/// Construct it before any other thread. `console` outlives it.
class Interrupts {
 public:
  explicit Interrupts(const Console& console, InterruptWords words = {});
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  std::stop_token token() const { return source_.get_token(); }

 private:
  std::stop_source source_;
  std::jthread watcher_;
};

}  // namespace sparkplan
