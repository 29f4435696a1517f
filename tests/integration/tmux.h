#pragma once

#include <optional>
#include <string>

#include "tests/integration/controller.h"

namespace sparkplan::test {

/// A program in a real terminal, seen as a person sees it: what stands on the screen, not what was
/// written to it. A tmux server of its own.
class Tmux {
 public:
  Tmux(const Words& argv, int columns, int rows);
  Tmux(const Tmux&) = delete;
  Tmux& operator=(const Tmux&) = delete;
  /// Ends the server and with it the program.
  ~Tmux();

  /// The lines on the screen, without blanks at their ends and without empty lines below the last.
  std::string screen() const { return capture({}); }
  /// The same with what has scrolled out at the top.
  std::string everything() const { return capture({"-S", "-"}); }
  bool shows(std::string_view text, std::chrono::milliseconds deadline = seconds(30)) const;
  void type(const Words& keys) const;
  void resize(int columns, int rows) const;
  /// The program's exit status; nothing when it does not end in time.
  std::optional<int> finish(std::chrono::milliseconds deadline = seconds(60)) const;

 private:
  std::string run(const Words& arguments) const;
  std::string capture(const Words& options) const;

  std::filesystem::path status_file() const { return scratch_.path() / "status"; }

  ScratchDirectory scratch_;
  std::string socket_;
};

}  // namespace sparkplan::test
