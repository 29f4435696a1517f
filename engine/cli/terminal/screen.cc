#include "engine/cli/terminal/screen.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "engine/core/text.h"
#include "engine/core/utf8.h"

namespace sparkplan {
namespace {

// From here on, some characters take two columns: Hangul, CJK, symbols, emoji.
constexpr char32_t kFirstWide = 0x1100;

// All escape sequences that this program sends: those of paint() and of the progress lines.
constexpr auto kOwnCommands = std::to_array<std::string_view>(
    {"\033[0m", "\033[1m", "\033[2m", "\033[31m", "\033[32m", "\033[33m", "\033[35m", "\033[48;5;24;38;5;255m",
     "\033[48;5;60;38;5;255m", "\033[48;5;94;38;5;255m", "\033[48;5;130;38;5;231m", "\033[48;5;214;38;5;16m"});

std::size_t own_command_at(std::string_view text, std::size_t position) {
  for (const std::string_view command : kOwnCommands) {
    if (text.substr(position).starts_with(command)) return command.size();
  }
  return 0;
}

void write_out(std::string_view text) {
  // A single write, so that the user never sees half a redraw.
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

std::string without_commands(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t escape = std::min(text.find('\033'), text.size());
    const std::size_t command = own_command_at(text, escape);
    // An escape sequence that is not ours is made visible with the text that follows.
    const std::size_t next = command > 0 ? escape : text.find('\033', escape + 1);
    const std::size_t end = std::min(next, text.size());
    out += printable(text.substr(0, end), true);
    out += text.substr(end, command);
    text.remove_prefix(end + command);
  }
  return out;
}

std::size_t visible_width(std::string_view line) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < line.size();) {
    if (line.substr(i).starts_with("\033[")) {
      const auto end = line.find('m', i);
      i = end == std::string_view::npos ? line.size() : end + 1;
      continue;
    }
    const auto point = code_point_at(line, i);
    width += point.value >= kFirstWide ? 2 : 1;
    i += point.length;
  }
  return width;
}

std::string erasure_of(std::span<const std::string> lines, int columns) {
  if (lines.empty()) return {};
  const auto width = static_cast<std::size_t>(std::max(columns, 1));
  std::size_t rows = 0;
  for (const auto& line : lines) rows += std::max<std::size_t>(1, (visible_width(line) + width - 1) / width);
  // Clear line by line: at the top of the screen, tmux treats "clear to the end" as a new page and keeps the old page
  // in its history. The line of the cursor is cleared too, because it may contain "^C".
  const auto up = "\033[" + std::to_string(rows) + "A";
  std::string text = "\r" + up;
  for (std::size_t row = 0; row < rows; ++row) text += "\033[2K\033[1B";
  return text + "\033[2K" + up;
}

ScreenSize Screen::size() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
  return {size.ws_col, size.ws_row};
}

void Screen::print(std::string_view text) {
  const std::lock_guard lock(mutex_);
  write_out(erasure().append(without_commands(text)).append(drawing()));
}

void Screen::interject(std::string_view text) {
  const std::lock_guard lock(mutex_);
  const auto safe = without_commands(text);
  write_out(lines_.empty() ? "\n" + safe : erasure().append(safe).append(drawing()));
}

void Screen::draw(std::vector<std::string> lines) {
  const std::lock_guard lock(mutex_);
  if (holds_ > 0) lines.clear();
  if (lines.empty() && lines_.empty()) return;
  auto text = erasure();
  lines_ = std::move(lines);
  write_out(text.append(drawing()));
}

Screen::Hold::Hold(Screen& screen) : screen_(screen) {
  const std::lock_guard lock(screen_.mutex_);
  if (screen_.holds_++ == 0) screen_.held_since_ = std::chrono::steady_clock::now();
  write_out(screen_.erasure());
  screen_.lines_.clear();
}

Screen::Hold::~Hold() {
  const std::lock_guard lock(screen_.mutex_);
  if (--screen_.holds_ == 0) screen_.held_ += std::chrono::steady_clock::now() - screen_.held_since_;
}

bool Screen::is_held() {
  const std::lock_guard lock(mutex_);
  return holds_ > 0;
}

std::chrono::steady_clock::duration Screen::time_held() {
  const std::lock_guard lock(mutex_);
  return held_;
}

std::string Screen::drawing() const {
  std::string text;
  for (const auto& line : lines_) text += without_commands(line) + "\n";
  return text;
}

}  // namespace sparkplan
