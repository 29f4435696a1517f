#include "engine/cli/terminal/console.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "engine/cli/terminal/typed_input.h"
#include "engine/core/json.h"
#include "engine/core/number_format.h"
#include "engine/core/text.h"
#include "engine/report/text/diagnostics_text.h"

namespace sparkplan {
namespace {

constexpr int kWidthWithoutTerminal = 100;
constexpr int kWidest = 100'000;

/// The columns of the terminal; without one $COLUMNS, else 100.
/// Source: POSIX, Environment Variables, COLUMNS.
int terminal_width(int terminal) {
  winsize size{};
  if (::ioctl(terminal, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const char* columns = std::getenv("COLUMNS");
  const int width = parse_number<int>(columns == nullptr ? "" : columns).value_or(0);
  return width > 0 && width <= kWidest ? width : kWidthWithoutTerminal;
}

bool variable_is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

/// True for a terminal that can move its cursor and show colours.
bool is_able_terminal(int descriptor) {
  const char* kind = std::getenv("TERM");
  return ::isatty(descriptor) != 0 && kind != nullptr && *kind != '\0' && std::string_view(kind) != "dumb";
}

}  // namespace

int columns_of_output() { return terminal_width(STDOUT_FILENO); }

Result<Console> Console::open(int verbosity, bool quiet, bool no_color, const std::string& log_file) {
  Console console;
  console.quiet_ = quiet;
  console.verbose_ = verbosity > 0;
  console.interactive_ = ::isatty(STDIN_FILENO) != 0 && ::isatty(STDERR_FILENO) != 0;
  const bool colors_wanted = !no_color && !variable_is_set("NO_COLOR");
  console.color_ = colors_wanted && is_able_terminal(STDOUT_FILENO);
  console.color_progress_ = colors_wanted && is_able_terminal(STDERR_FILENO);
  console.live_progress_ = is_able_terminal(STDERR_FILENO) && verbosity == 0;
  try {
    std::vector<spdlog::sink_ptr> sinks;
    if (verbosity > 0) sinks.push_back(std::make_shared<spdlog::sinks::stderr_sink_mt>());
    if (!log_file.empty()) sinks.push_back(std::make_shared<spdlog::sinks::basic_file_sink_mt>(log_file));
    console.log_ = std::make_shared<spdlog::logger>("sparkplan", sinks.begin(), sinks.end());
    console.log_->set_level(spdlog::level::debug);
    console.log_->set_pattern("%Y-%m-%dT%H:%M:%S.%e %v");
    console.log_->flush_on(spdlog::level::debug);
  } catch (const spdlog::spdlog_ex& problem) {
    return failure(ErrorCode::kFailed, std::string("open the log: ") + problem.what(),
                   "name a file that you can write: --log-file PATH");
  }
  return console;
}

Console::Console(Console&&) noexcept = default;
Console::~Console() = default;

void Console::result(std::string_view text) const {
  // In pieces of whole lines: nodes word much of the text, and a copy of it all could have many megabytes.
  constexpr std::size_t kPieceBytes = std::size_t{64} << 10;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n', std::min(kPieceBytes, text.size())), text.size() - 1) + 1;
    put(without_commands(text.substr(0, end)));
    text.remove_prefix(end);
  }
}

void Console::result_json(const Value& value) const {
  // It contains neither control characters nor hidden ones: public_json() escapes them.
  public_json(value, [this](std::string_view piece) { put(piece); });
  put("\n");
}

void Console::put(std::string_view shown) const {
  const bool written = std::fwrite(shown.data(), 1, shown.size(), stdout) == shown.size() && std::fflush(stdout) == 0;
  // A reader that has closed its pipe, such as `head`, wants no more.
  if (!written && errno != EPIPE && lost_output_ == 0) lost_output_ = errno;
}

Result<void> Console::check_output() const {
  if (lost_output_ == 0) return {};
  Error error = system_error("write the result to standard output", lost_output_);
  error.hint = "the command itself was carried out";
  return failure(std::move(error));
}

void Console::question(std::string_view text) const { screen_->print(text); }

void Console::interject(std::string_view text) const { screen_->interject(text); }

void Console::remark(std::string_view text) const {
  if (!quiet_) screen_->print(std::string(text) + "\n");
}

void Console::error(const Error& error) const {
  std::string text = "sparkplan: error: " + printable(error.describe()) + "\n";
  if (!error.hint.empty()) text += "  hint: " + printable(error.hint) + "\n";
  screen_->print(text);
}

void Console::errors(const std::vector<NodeTrouble>& troubles) const {
  for (const SharedTrouble& one : shared_troubles(troubles)) {
    error(make_error(ErrorCode::kFailed, fold_names(one.nodes) + ": " + one.words, one.hint));
  }
}

void Console::diagnostics(const std::vector<Diagnostic>& diagnostics, std::string_view source) const {
  if (const auto text = diagnostics_text(diagnostics, source, question_style()); !text.empty()) screen_->print(text);
}

void Console::trace(std::string_view text) const { log_->info("{}", printable(text)); }

bool Console::confirm(std::string_view question, const std::stop_token& stop) const {
  const Screen::Hold nothing_is_drawn(*screen_);
  if (stop.stop_requested()) return false;
  std::string prompt = wrapped(std::string(question) + " [y/N]", 0, question_style());
  prompt.back() = ' ';  // The answer follows on the last line.
  // Input that was typed before the question is no answer to it.
  ::tcflush(STDIN_FILENO, TCIFLUSH);
  screen_->print(prompt);
  const auto answer = typed_line(STDIN_FILENO, stop);
  if (!answer) screen_->print("\n");  // What follows begins below the prompt and the "^C".
  return answer == "y" || answer == "yes" || answer == "Y";
}

TextStyle Console::style() const {
  TextStyle style;
  style.color = color_;
  style.quiet = quiet_;
  style.width = columns_of_output();
  style.verbose = verbose_;
  return style;
}

TextStyle Console::question_style() const {
  TextStyle style;
  style.color = color_progress_;
  style.quiet = quiet_;
  style.width = terminal_width(STDERR_FILENO);
  style.verbose = verbose_;
  return style;
}

}  // namespace sparkplan
