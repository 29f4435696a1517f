#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "engine/cli/terminal/screen.h"
#include "engine/core/diagnostic.h"
#include "engine/core/result.h"
#include "engine/core/value.h"
#include "engine/report/text/shared_errors.h"
#include "engine/report/text/text_style.h"

namespace spdlog {
class logger;
}

namespace sparkplan {

/// The columns of standard output: those of its terminal, else $COLUMNS, else 100.
int columns_of_output();

/// The output of the program: results to standard output, everything else to standard error and, if requested, to a log
/// file.
class Console {
 public:
  /// An empty `log_file` means no log file. Errors: kFailed when the log file cannot be opened.
  static Result<Console> open(int verbosity, bool quiet, bool no_color, const std::string& log_file);

  Console(Console&&) noexcept;
  Console& operator=(Console&&) = delete;
  ~Console();

  /// Prints to standard output. This function and all below make control characters and hidden characters visible,
  /// except colours (see without_commands()).
  void result(std::string_view text) const;
  /// Prints public_json() and a newline to standard output, without holding the whole text.
  void result_json(const Value& value) const;
  /// Errors: those of write(2), if a result could not be printed as a whole, as on a full disk.
  Result<void> check_output() const;
  /// Prints the context of a question to standard error, also with --quiet.
  void question(std::string_view text) const;
  /// Like question(), for unsolicited text, at any moment and from any thread.
  void interject(std::string_view text) const;
  /// Prints to standard error with a newline; prints nothing with --quiet.
  void remark(std::string_view text) const;
  /// Prints "sparkplan: error: ..." and the hint to standard error.
  void error(const Error& error) const;
  /// As error(), once for the nodes that share one: "sparkplan: error: spark-[01-08]: ...".
  void errors(const std::vector<NodeTrouble>& troubles) const;
  void diagnostics(const std::vector<Diagnostic>& diagnostics, std::string_view source) const;
  /// Logs a step of the work, for -v and the log file.
  void trace(std::string_view text) const;

  /// Asks on the terminal; false for anything but "yes" or "y". Ignores what was typed before. A stop ends the question
  /// at once; after a stop, nothing is asked. Call only when interactive().
  bool confirm(std::string_view question, const std::stop_token& stop) const;
  bool interactive() const { return interactive_; }

  /// For result().
  TextStyle style() const;
  /// For question().
  TextStyle question_style() const;
  bool quiet() const { return quiet_; }
  /// -v: trace() prints each event.
  bool verbose() const { return verbose_; }
  bool live_progress() const { return live_progress_; }
  bool color_progress() const { return color_progress_; }
  /// Standard error, for code that draws on it.
  Screen& screen() const { return *screen_; }

 private:
  Console() = default;
  void put(std::string_view shown) const;

  std::shared_ptr<spdlog::logger> log_;
  std::unique_ptr<Screen> screen_ = std::make_unique<Screen>();
  mutable int lost_output_ = 0;  ///< The errno of the first result that could not be printed.
  bool quiet_ = false;
  bool verbose_ = false;
  bool color_ = false;
  bool interactive_ = false;
  bool live_progress_ = false;
  bool color_progress_ = false;
};

}  // namespace sparkplan
