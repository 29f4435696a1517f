#include "tests/integration/lab/tmux.h"

#include <unistd.h>

#include <fstream>
#include <stdexcept>

#include "engine/core/text.h"

namespace sparkplan::test {
namespace {

std::string new_socket_name() {
  static int count = 0;
  return "sparkplan-test-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
}

}  // namespace

Tmux::Tmux(const Words& argv, int columns, int rows) : socket_(new_socket_name()) {
  // tmux draws no status line, and the screen stays after the program has ended.
  Words start{"set",
              "-g",
              "remain-on-exit",
              "on",
              ";",
              "set",
              "-g",
              "remain-on-exit-format",
              "",
              ";",
              "set",
              "-g",
              "status",
              "off",
              ";",
              "new-session",
              "-d",
              "-x",
              std::to_string(columns),
              "-y",
              std::to_string(rows),
              "--"};
  start.insert(start.end(),
               {"sh", "-c", R"(trap : INT; "$@"; echo $? >"$0.new"; mv "$0.new" "$0")", status_file().string()});
  start.insert(start.end(), argv.begin(), argv.end());
  start.insert(start.begin(), {"start-server", ";"});
  run(start);
}

Tmux::~Tmux() {
  try {
    run({"kill-server"});
  } catch (const std::exception&) {
    // The server has already ended.
  }
}

std::string Tmux::run(const Words& arguments) const {
  Words argv{"env", "-u", "TMUX", "-u", "NO_COLOR", "LC_ALL=C.UTF-8", "tmux", "-L", socket_, "-f", "/dev/null"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  auto output = run_program(argv);
  if (output.exit_status != 0) throw std::runtime_error("tmux: " + output.standard_error);
  return std::move(output.standard_output);
}

std::string Tmux::capture(const Words& options) const {
  Words arguments{"capture-pane", "-p"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  auto text = run(arguments);
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

bool Tmux::shows(std::string_view text, std::chrono::milliseconds deadline) const {
  return eventually([&] { return contains(screen(), text); }, deadline);
}

void Tmux::type(const Words& keys) const {
  Words arguments{"send-keys"};
  arguments.insert(arguments.end(), keys.begin(), keys.end());
  run(arguments);
}

void Tmux::resize(int columns, int rows) const {
  run({"resize-window", "-x", std::to_string(columns), "-y", std::to_string(rows)});
}

std::optional<int> Tmux::finish(std::chrono::milliseconds deadline) const {
  // tmux has the last output of a dead pane, but sometimes not its exit status; the status comes from the file.
  const auto ended = [&] {
    return std::filesystem::exists(status_file()) && trim(run({"display-message", "-p", "#{pane_dead}"})) == "1";
  };
  if (!eventually(ended, deadline)) return std::nullopt;
  int status = -1;
  std::ifstream(status_file()) >> status;
  return status;
}

}  // namespace sparkplan::test
