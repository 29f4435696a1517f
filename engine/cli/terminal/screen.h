#pragma once

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

/// Columns that a line takes on a terminal, colours not counted. Rather too many than too few: what may
/// be wide counts as wide.
std::size_t visible_width(std::string_view line);

/// Pure. `text` as it may be written to a terminal: line breaks, tabs and the colours that paint() gives stay, of
/// everything else that a terminal obeys or hides printable() makes stand-ins. Whoever composes a text uses
/// printable() on what came from elsewhere; this is the last door, behind all of them.
std::string without_commands(std::string_view text);

/// Pure. What takes `lines` off a terminal on which the cursor stands below the last of them. One that has
/// become narrower since they were drawn has broken those that no longer fit.
/// Source: ECMA-48, CUU, CUD and EL.
std::string erasure_of(std::span<const std::string> lines, int columns);

/// Standard error: text that scrolls away, and at its end, on a terminal, live lines that are drawn
/// again and again. May be used from any thread.
class Screen {
 public:
  /// How large the terminal is at this moment; 80 x 24 where there is none.
  static ScreenSize size();

  /// Above the live lines, which come back below it.
  void print(std::string_view text);
  /// The same for what comes unasked, after a "^C" that the terminal has shown.
  void interject(std::string_view text);
  /// Puts `lines` in place of the live lines. Each must be narrower than size(), and they must be fewer
  /// than it has rows.
  void draw(std::vector<std::string> lines);

  /// Takes the live lines away and draws none as long as it lives: somebody is asked something.
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
};

}  // namespace sparkplan
