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

/// Runs a program to its end; throws when that cannot be done, so that a case ends there.
CapturedOutput run_program(const Words& argv, std::chrono::milliseconds deadline = seconds(60));

/// Asks again and again until it is so; false when it still is not after `deadline`.
bool eventually(const std::function<bool()>& is_so, std::chrono::milliseconds deadline = seconds(20));

bool contains(std::string_view text, std::string_view part);

/// The lines of a text that say something.
std::vector<std::string_view> lines_of(std::string_view text);

/// Test hosts of tests/lab, booted when the first case asks for them and shared by all. The lab is
/// named $SPARKPLAN_LAB, or "itest".
class Lab {
 public:
  static constexpr int kHosts = 8;

  static Lab& get();
  /// One host whose programs are for aarch64, in a lab of its own: an "a", and the other one's name.
  static Lab& aarch64();
  /// Two hosts whose netplan hands everything to NetworkManager, in a lab of its own: an "n", and the name.
  static Lab& network_manager();
  /// Takes down the labs that this process has booted. With SPARKPLAN_LAB_KEEP set, a lab that is up is
  /// used, and left up.
  static void end();

  /// argv of a program that is to run where the hosts can be reached.
  Words in_controller(const Words& argv) const { return command("controller", {"--"}, argv); }
  /// As root on host I without the network.
  CapturedOutput exec(int host, const Words& argv) const;
  Words exec_command(int host, const Words& argv) const;

  void reboot(int host) const { change("reboot", host); }
  void stop(int host) const { change("stop", host); }
  void start(int host) const { change("start", host); }
  /// The switch's port of that cable carries frames of at most `mtu`, until the host's next boot.
  void narrow(int host, const std::string& interface, int mtu) const {
    (void)answer("narrow", {std::to_string(host), interface, std::to_string(mtu)});
  }
  /// Puts the cable of an interface where that of `like` belongs, until the host's next boot.
  void plug(int host, const std::string& interface, const std::string& like) const {
    (void)answer("plug", {std::to_string(host), interface, like});
  }
  /// The cable of one of its interfaces.
  void cut(int host, const std::string& interface) const { (void)answer("cut", {std::to_string(host), interface}); }
  void join(int host, const std::string& interface) const { (void)answer("join", {std::to_string(host), interface}); }

  /// A host's root directory as seen from here.
  const std::filesystem::path& root(int host) const { return roots_.at(static_cast<std::size_t>(host - 1)); }
  /// HOME of the controller: a key that all hosts accept, and their host keys.
  const std::filesystem::path& home() const { return home_; }

 private:
  /// `options` are those of `lab.sh up`.
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
