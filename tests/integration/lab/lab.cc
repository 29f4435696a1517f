#include "tests/integration/lab/lab.h"

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>

#include "engine/core/text.h"
#include "tests/support/source_folder.h"

namespace sparkplan::test {
namespace {

const std::string kScript = source_folder() + "/tests/lab/lab.sh";

// A busy machine boots hosts slowly.
const std::string kBootTimeout = "SPARKPLAN_LAB_TIMEOUT=400";

/// A lab that is booted at its first use.
struct Slot {
  std::unique_ptr<Lab> lab;
  std::string failed;
};

Slot own_slot;
Slot aarch64_slot;
Slot network_manager_slot;
Slot jobs_slot;
Slot containers_slot;
Slot docker_slot;

/// Boots the lab once. A failed boot is remembered: it takes minutes, and a hundred cases would repeat it.
template <typename Boot>
Lab& booted(Slot& slot, const Boot& boot) {
  if (!slot.failed.empty()) throw std::runtime_error(slot.failed);
  try {
    if (!slot.lab) slot.lab = boot();
  } catch (const std::exception& problem) {
    slot.failed = problem.what();
    throw;
  }
  return *slot.lab;
}

std::string name_of_lab() {
  const char* name = std::getenv("SPARKPLAN_LAB");
  return name != nullptr && *name != '\0' ? name : "itest";
}

}  // namespace

CapturedOutput run_program(const Words& argv, std::chrono::milliseconds deadline) {
  auto output = run_and_capture(argv, CaptureLimits{deadline});
  if (!output) throw std::runtime_error(join(argv, " ") + ": " + output.error().describe());
  return std::move(*output);
}

bool eventually(const std::function<bool()>& is_so, std::chrono::milliseconds deadline) {
  const auto end = std::chrono::steady_clock::now() + deadline;
  while (!is_so()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

std::vector<std::string_view> lines_of(std::string_view text) {
  auto lines = split_lines(text);
  std::erase_if(lines, [](std::string_view line) { return trim(line).empty(); });
  return lines;
}

Lab& Lab::get() {
  return booted(own_slot, [] { return std::unique_ptr<Lab>(new Lab(name_of_lab(), kHosts, {})); });
}

Lab& Lab::aarch64() {
  // Names have six characters at most.
  return booted(aarch64_slot, [] {
    return std::unique_ptr<Lab>(new Lab("a" + name_of_lab().substr(0, 5), 1, {"--arch", "aarch64"}));
  });
}

Lab& Lab::network_manager() {
  return booted(network_manager_slot, [] {
    return std::unique_ptr<Lab>(new Lab("n" + name_of_lab().substr(0, 5), 2, {"--renderer", "NetworkManager"}));
  });
}

Lab& Lab::jobs() {
  return booted(jobs_slot, [] {
    return std::unique_ptr<Lab>(new Lab("j" + name_of_lab().substr(0, 5), kHosts, {"--software", "jobs"}));
  });
}

Lab& Lab::containers() {
  return booted(containers_slot, [] {
    return std::unique_ptr<Lab>(new Lab("c" + name_of_lab().substr(0, 5), 2, {"--software", "containers"}));
  });
}

Lab& Lab::docker() {
  return booted(docker_slot, [] {
    return std::unique_ptr<Lab>(new Lab("d" + name_of_lab().substr(0, 5), 2, {"--software", "docker"}));
  });
}

void Lab::end() {
  for (auto* slot : {&own_slot, &aarch64_slot, &network_manager_slot, &jobs_slot, &containers_slot, &docker_slot}) {
    if (slot->lab && slot->lab->booted_here_ && std::getenv("SPARKPLAN_LAB_KEEP") == nullptr) {
      (void)slot->lab->answer("down");
    }
    slot->lab.reset();
  }
}

Words Lab::command(const std::string& verb, const Words& arguments, const Words& argv) const {
  Words all{"env", "SPARKPLAN_LAB=" + name_, kBootTimeout, kScript, verb};
  all.insert(all.end(), arguments.begin(), arguments.end());
  all.insert(all.end(), argv.begin(), argv.end());
  return all;
}

std::string Lab::answer(const std::string& verb, const Words& arguments) const {
  const auto output = run_program(command(verb, arguments), std::chrono::minutes(10));
  if (output.exit_status != 0) throw std::runtime_error("lab.sh " + verb + ": " + output.standard_error);
  return std::string(trim(output.standard_output));
}

Lab::Lab(std::string name, int hosts, const Words& options) : name_(std::move(name)) {
  const std::string count = std::to_string(hosts);
  const bool keep = std::getenv("SPARKPLAN_LAB_KEEP") != nullptr;
  if (!keep || run_program(command("root", {count})).exit_status != 0) {
    Words arguments{count};
    arguments.insert(arguments.end(), options.begin(), options.end());
    (void)answer("up", arguments);
    booted_here_ = true;
  }
  home_ = answer("home");
  for (int host = 1; host <= hosts; ++host) roots_.emplace_back(answer("root", {std::to_string(host)}));
}

Words Lab::exec_command(int host, const Words& argv) const {
  return command("exec", {std::to_string(host), "--"}, argv);
}

CapturedOutput Lab::exec(int host, const Words& argv) const { return run_program(exec_command(host, argv)); }

void Lab::change(const std::string& verb, int host) const { (void)answer(verb, {std::to_string(host)}); }

}  // namespace sparkplan::test
