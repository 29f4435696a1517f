#pragma once

#include <optional>
#include <string>

#include "tests/integration/lab/controller.h"

namespace sparkplan::test {

/// A program in a real terminal, as a user sees it: the contents of the screen instead of the bytes written to it. Each
/// object has its own tmux server.
class Tmux {
 public:
  Tmux(const Words& argv, int columns, int rows);
  Tmux(const Tmux&) = delete;
  Tmux& operator=(const Tmux&) = delete;
  /// Ends the server and with it the program.
  ~Tmux();

  /// The lines on the screen, without trailing blanks and without empty lines at the end.
  std::string screen() const { return capture({}); }
  /// `screen` with the lines that have scrolled out at the top.
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
