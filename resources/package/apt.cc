#include "resources/package/apt.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "engine/core/text.h"

namespace sparkplan::package {
namespace {

using std::chrono::seconds;

/// Nothing is downloaded, but apt reads the lists of a distribution.
constexpr seconds kSimulationDeadline{60};
constexpr seconds kUpdateDeadline{180};
/// A driver with its libraries has gigabytes. A change that is cut off leaves dpkg's work incomplete.
constexpr std::chrono::minutes kChangeDeadline{60};
constexpr std::chrono::hours kListsStayFresh{24};
constexpr std::size_t kMostReasons = 3;

/// No program may ask a question, needrestart restarts no services, and messages are in English for parsing.
const std::array<std::string, 7> kEnvironment{"env",
                                              "LC_ALL=C",
                                              "DEBIAN_FRONTEND=noninteractive",
                                              "DEBIAN_PRIORITY=critical",
                                              "APT_LISTCHANGES_FRONTEND=none",
                                              "NEEDRESTART_SUSPEND=1",
                                              "UCF_FORCE_CONFFOLD=1"};

/// Edited configuration files stay as they are. apt-get waits up to 60 seconds for another apt or dpkg.
const std::array<std::string, 8> kOptions{"--yes",
                                          "--quiet=2",
                                          "--option=Dpkg::Options::=--force-confdef",
                                          "--option=Dpkg::Options::=--force-confold",
                                          "--option=DPkg::Lock::Timeout=60",
                                          "--option=Dpkg::Use-Pty=0",
                                          "--option=APT::Cmd::Pattern-Only=true",
                                          "--option=APT::Color=0"};

std::vector<std::string> apt_get(const std::vector<std::string>& arguments) {
  std::vector<std::string> argv(kEnvironment.begin(), kEnvironment.end());
  argv.emplace_back("apt-get");
  argv.insert(argv.end(), kOptions.begin(), kOptions.end());
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return argv;
}

tl::unexpected<Error> no_apt() {
  return failure(ErrorCode::kUnsupported, "there is no apt-get on this node",
                 "the section packages supports Debian, Ubuntu and DGX OS");
}

/// env(1) exits with 127 if the program is missing.
constexpr int kNoSuchProgram = 127;

Result<CommandOutput> known_program(Result<CommandOutput> output) {
  const bool missing = output ? output->exit_status == kNoSuchProgram : output.error().code == ErrorCode::kNotFound;
  if (missing) return no_apt();
  return output;
}

Result<Simulation> simulate(const std::vector<std::string>& arguments, const NodeReader& node) {
  std::vector<std::string> all{"--simulate"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  SPARK_TRY(const CommandOutput output, known_program(node.query(apt_get(all), kSimulationDeadline)));
  return parse_simulation(output);
}

Result<void> change(const std::vector<std::string>& arguments, const std::string& what, Node& node) {
  SPARK_TRY(const CommandOutput output, known_program(node.run(apt_get(arguments), kChangeDeadline)));
  if (output.exit_status == 0) return {};
  const std::string reason = reason_of_failure(output);
  const bool locked = reason.find("Could not get lock") != std::string::npos;
  return failure(ErrorCode::kFailed, what + ": " + reason,
                 locked ? "another program is installing packages there: wait for it to end, then apply again"
                        : "see /var/log/apt/term.log on the node");
}

std::vector<std::string> install_arguments(std::vector<std::string> options, Held held,
                                           const std::string& specification) {
  if (held == Held::kMayChange) options.emplace_back("--allow-change-held-packages");
  options.insert(options.end(), {"install", "--", specification});
  return options;
}

/// Source: apt-mark(8).
Result<void> mark(const char* as, const std::string& name, Node& node) {
  std::vector<std::string> argv(kEnvironment.begin(), kEnvironment.end());
  argv.insert(argv.end(), {"apt-mark", as, "--", name});
  SPARK_TRY(const CommandOutput output, known_program(node.run(argv, kSimulationDeadline)));
  if (output.exit_status == 0) return {};
  return failure(ErrorCode::kFailed, "apt-mark " + std::string(as) + " " + name + ": " + reason_of_failure(output));
}

}  // namespace

Simulation parse_simulation(const CommandOutput& output) {
  Simulation simulation;
  for (const std::string_view line : split_lines(output.standard_output)) {
    const auto words = words_of(line);
    if (words.size() < 2) continue;
    if (words[0] == "Inst") simulation.installs.insert(words[1]);
    if (words[0] == "Remv" || words[0] == "Purg") simulation.removes.insert(words[1]);
  }
  if (output.exit_status != 0) simulation.complaint = reason_of_failure(output);
  return simulation;
}

std::string reason_of_failure(const CommandOutput& output) {
  std::vector<std::string> reasons;
  const auto add = [&](std::string_view reason) {
    const std::string text(trim(reason));
    if (text.empty() || std::ranges::find(reasons, text) != reasons.end()) return;
    if (reasons.size() < kMostReasons) reasons.push_back(text);
  };
  // dpkg prints the reason in the line after "dpkg: error processing"; apt only reports that dpkg failed.
  bool detail = false;
  const std::string all = output.standard_output + "\n" + output.standard_error;
  for (const std::string_view line : split_lines(all)) {
    if (detail) add(line);
    detail = line.starts_with("dpkg: error processing") && line.ends_with(':');
    if (line.starts_with("dpkg: error: ")) add(line.substr(13));
  }
  for (const std::string_view line : split_lines(all)) {
    if (line.starts_with("E: ")) add(line.substr(3));
  }
  return reasons.empty() ? "exit status " + std::to_string(output.exit_status) : join(reasons, "; ");
}

bool has_lists(const NodeReader& node) {
  const auto lists = node.list_directory("/var/lib/apt/lists");
  return lists && std::ranges::any_of(*lists, [](const std::string& name) {
           return name.find("_Packages") != std::string::npos || name.find("Release") != std::string::npos;
         });
}

bool lists_are_old(const NodeReader& node) {
  using Clock = std::chrono::system_clock;
  if (!has_lists(node)) return true;
  // Every update changes the directory `partial`, even if it fetches nothing new.
  std::int64_t newest = 0;
  for (const char* trace : {"/var/lib/apt/lists/partial", "/var/lib/apt/lists"}) {
    if (const auto status = node.status(trace)) newest = std::max(newest, status->changed_at_nanos);
  }
  const auto age = Clock::now().time_since_epoch() - std::chrono::nanoseconds(newest);
  return age > kListsStayFresh;
}

Result<void> update_lists(Node& node) {
  SPARK_TRY(const CommandOutput output, known_program(node.run(apt_get({"update"}), kUpdateDeadline)));
  if (output.exit_status == 0) return {};
  return failure(ErrorCode::kFailed, "apt-get update: " + reason_of_failure(output));
}

Result<Simulation> simulate_install(const std::string& specification, Held held, const NodeReader& node) {
  return simulate(install_arguments({"--allow-downgrades"}, held, specification), node);
}

Result<Simulation> simulate_removal(const std::string& name, const NodeReader& node) {
  return simulate({"remove", "--", name}, node);
}

Result<void> install(const std::string& specification, Held held, Node& node) {
  return change(install_arguments({"--no-remove", "--allow-downgrades"}, held, specification),
                "install " + specification, node);
}

Result<void> remove(const std::string& name, Node& node) {
  return change({"--no-auto-remove", "remove", "--", name}, "remove " + name, node);
}

Result<void> mark_automatic(const std::string& name, Node& node) { return mark("auto", name, node); }

Result<void> mark_held(const std::string& name, bool held, Node& node) {
  return mark(held ? "hold" : "unhold", name, node);
}

}  // namespace sparkplan::package
