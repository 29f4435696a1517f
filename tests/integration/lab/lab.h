#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "engine/process/child_process.h"

namespace sparkplan::test {

using Words = std::vector<std::string>;
using std::chrono::seconds;

/// Runs a program until it ends; throws when the program cannot run, so that the case fails.
CapturedOutput run_program(const Words& argv, std::chrono::milliseconds deadline = seconds(60));

/// Repeats the check until it is true; false when it is still not true after `deadline`.
bool eventually(const std::function<bool()>& is_so, std::chrono::milliseconds deadline = seconds(20));

bool contains(std::string_view text, std::string_view part);

/// The lines of a text that are not blank.
std::vector<std::string_view> lines_of(std::string_view text);

/// Test hosts of tests/lab. The first case that needs them boots them, and all cases share them. The lab is named
/// $SPARKPLAN_LAB, or "itest".
class Lab {
 public:
  static constexpr int kHosts = 8;

  static Lab& get();
  /// One host with aarch64 programs, in its own lab; the lab's name is "a" and the other lab's name.
  static Lab& aarch64();
  /// Two hosts whose netplan uses NetworkManager for everything, in their own lab; its name starts with "n".
  static Lab& network_manager();
  /// All hosts with Open MPI and Slurm, in their own lab; its name starts with "j".
  static Lab& jobs();
  /// Two hosts with podman, in their own lab; its name starts with "c".
  static Lab& containers();
  /// Two hosts with docker, in their own lab; its name starts with "d".
  static Lab& docker();
  /// Shuts down the labs that this process has booted. With SPARKPLAN_LAB_KEEP set, cases use a running lab and leave
  /// it running.
  static void end();

  /// The argv that runs a program where it can reach the hosts.
  Words in_controller(const Words& argv) const { return command("controller", {"--"}, argv); }
  /// Runs a program as root on the host, without using the network.
  CapturedOutput exec(int host, const Words& argv) const;
  Words exec_command(int host, const Words& argv) const;

  void reboot(int host) const { change("reboot", host); }
  void stop(int host) const { change("stop", host); }
  void start(int host) const { change("start", host); }
  /// Limits the switch port of that cable to frames of `mtu` bytes, until the host's next boot.
  void narrow(int host, const std::string& interface, int mtu) const {
    (void)answer("narrow", {std::to_string(host), interface, std::to_string(mtu)});
  }
  /// Connects the cable of an interface to the switch of `like`, until the host's next boot.
  void plug(int host, const std::string& interface, const std::string& like) const {
    (void)answer("plug", {std::to_string(host), interface, like});
  }
  /// Cuts the cable of one of the host's interfaces.
  void cut(int host, const std::string& interface) const { (void)answer("cut", {std::to_string(host), interface}); }
  void join(int host, const std::string& interface) const { (void)answer("join", {std::to_string(host), interface}); }

  /// A host's root directory as a path on this machine.
  const std::filesystem::path& root(int host) const { return roots_.at(static_cast<std::size_t>(host - 1)); }
  /// HOME of the controller: a key that all hosts accept, and their host keys.
  const std::filesystem::path& home() const { return home_; }

 private:
  /// `options` are the options of `lab.sh up`.
  Lab(std::string name, int hosts, const Words& options);
  Words command(const std::string& verb, const Words& arguments, const Words& argv = {}) const;
  std::string answer(const std::string& verb, const Words& arguments = {}) const;
  void change(const std::string& verb, int host) const;

  std::string name_;
  bool booted_here_ = false;
  std::filesystem::path home_;
  std::vector<std::filesystem::path> roots_;
};

}  // namespace sparkplan::test
