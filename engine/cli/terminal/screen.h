#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sparkplan {

struct ScreenSize {
  int columns = 80;
  int rows = 24;

  bool operator==(const ScreenSize&) const = default;
};

/// Columns that a line takes on a terminal, without colours. Characters that may be wide count as wide: too many
/// columns are better than too few.
std::size_t visible_width(std::string_view line);

/// Pure. `text` in a form that is safe to write to a terminal. Line breaks, tabs and the colours of paint() stay.
/// printable() replaces all other control characters and hidden characters. Code that composes a text applies
/// printable() to foreign input; this function is the last barrier after all of it.
std::string without_commands(std::string_view text);

/// Pure. The text that erases `lines` from a terminal whose cursor is below the last of them. A terminal that has
/// become narrower since then has wrapped the lines that no longer fit.
/// Source: ECMA-48, CUU, CUD and EL.
std::string erasure_of(std::span<const std::string> lines, int columns);

/// Standard error: scrolling text and, on a terminal, live lines at its end that are redrawn repeatedly. May be used
/// from any thread.
class Screen {
 public:
  /// The current size of the terminal; 80 x 24 without a terminal.
  static ScreenSize size();

  /// Prints above the live lines, which are then redrawn.
  void print(std::string_view text);
  /// Like print(), for unsolicited text after a "^C" that the terminal has shown.
  void interject(std::string_view text);
  /// Replaces the live lines by `lines`. Each line must be narrower than size(), and there must be fewer lines than it
  /// has rows.
  void draw(std::vector<std::string> lines);

  /// True while a Hold exists: the program waits for the user or for the time, and not for a step.
  bool is_held();
  /// The time of all questions so far.
  std::chrono::steady_clock::duration time_held();

  /// Removes the live lines and draws none while it lives, for questions to the user and a delayed start.
  class Hold {
   public:
    explicit Hold(Screen& screen);
    ~Hold();
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    Screen& screen_;
  };

 private:
  std::string erasure() const { return erasure_of(lines_, size().columns); }
  std::string drawing() const;

  std::mutex mutex_;
  std::vector<std::string> lines_;
  int holds_ = 0;
  std::chrono::steady_clock::time_point held_since_;
  std::chrono::steady_clock::duration held_{};  ///< Without the hold that lasts.
};

}  // namespace sparkplan
