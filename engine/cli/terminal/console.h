#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "engine/cli/terminal/screen.h"
#include "engine/core/diagnostic.h"
#include "engine/core/result.h"
#include "engine/report/text_style.h"

namespace spdlog {
class logger;
}

namespace sparkplan {

/// Where the program speaks: results on standard output, everything else on standard error, and the
/// log where one is asked for.
class Console {
 public:
  /// `log_file` empty: no file. Errors: kFailed when the log file cannot be opened.
  static Result<Console> open(int verbosity, bool quiet, bool no_color, const std::string& log_file);

  Console(Console&&) noexcept;
  Console& operator=(Console&&) = delete;
  ~Console();

  /// To standard output. What a terminal would obey or hide is made visible in all that is written, here and
  /// below, but for colours (see without_commands()).
  void result(std::string_view text) const;
  /// To standard error, also with --quiet: what a question is about.
  void question(std::string_view text) const;
  /// The same for what comes unasked, at any moment and from any thread.
  void interject(std::string_view text) const;
  /// To standard error with a newline; nothing with --quiet.
  void remark(std::string_view text) const;
  /// To standard error, "sparkplan: error: ..." and the hint.
  void error(const Error& error) const;
  void diagnostics(const std::vector<Diagnostic>& diagnostics, std::string_view source) const;
  /// A step of the work, for -v and the log file.
  void trace(std::string_view text) const;

  /// Asks on the terminal; false for anything but "yes" or "y". Call only when interactive().
  bool confirm(std::string_view question, const std::stop_token& stop = {}) const;
  bool interactive() const { return interactive_; }

  /// For result().
  TextStyle style() const;
  /// For question().
  TextStyle question_style() const;
  bool quiet() const { return quiet_; }
  bool live_progress() const { return live_progress_; }
  bool color_progress() const { return color_progress_; }
  /// Standard error, for those who draw on it.
  Screen& screen() const { return *screen_; }

 private:
  Console() = default;

  std::shared_ptr<spdlog::logger> log_;
  std::unique_ptr<Screen> screen_ = std::make_unique<Screen>();
  bool quiet_ = false;
  bool color_ = false;
  bool interactive_ = false;
  bool live_progress_ = false;
  bool color_progress_ = false;
};

}  // namespace sparkplan
