// What the unit of a connection does: /bin/sh runs its command with another /sys, and with a program `nvme` that adds a
// controller as the kernel does.
#include <string>
#include <vector>

#include "engine/core/text.h"
#include "engine/process/child_process.h"
#include "engine/resource/systemd_units.h"
#include "resources/nvme_tcp/connection_unit.h"
#include "tests/support/catch.h"
#include "tests/unit/agent/scratch.h"

namespace sparkplan {
namespace {

const std::string kServer = "10.0.0.9";
const std::string kPort = "4420";

void replace_each(std::string& text, const std::string& part, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += by.size()) {
    text.replace(at, part.size(), by);
  }
}

/// A machine with controllers, and the unit of the subsystem "models" at 10.0.0.9.
class Machine {
 public:
  Machine() {
    root_.make_directory("/sys");
    root_.make_directory("/run");
  }

  void add(const std::string& name, const std::string& subsystem, const std::string& address,
           const std::string& port = kPort, const std::string& transport = "tcp") {
    root_.write("/sys/" + name + "/subsysnqn", subsystem + "\n");
    root_.write("/sys/" + name + "/transport", transport + "\n");
    root_.write("/sys/" + name + "/address", "traddr=" + address + ",trsvcid=" + port + ",src_addr=10.0.0.1\n");
  }
  /// The server answers the next connect, and calls itself `subsystem`.
  void server_names(const std::string& subsystem) { says_ = subsystem; }

  /// Another program connects to the server, too.
  void meanwhile(const std::string& name, const std::string& subsystem) {
    also_ = "mkdir " + at("/sys/" + name) + "\ncd " + at("/sys/" + name) +
            "\necho tcp >transport\necho traddr=" + kServer + ",trsvcid=" + kPort + " >address\necho " + subsystem +
            " >subsysnqn\n";
  }
  void removed_at_once() { removed_at_once_ = true; }

  /// The exit status of the unit's command.
  int connect(const std::string& server = kServer) {
    root_.write("/bin/nvme", "#!/bin/sh\necho \"$*\" >>" + at("/calls") + "\n" + (says_.empty() ? "exit 1\n" : "") +
                                 "mkdir " + at("/sys/nvme7") + "\ncd " + at("/sys/nvme7") + "\necho tcp >transport\n" +
                                 "echo traddr=" + kServer + ",trsvcid=" + kPort + " >address\n" + "echo '" + says_ +
                                 "' >subsysnqn\n" + (removed_at_once_ ? "rm -r " + at("/sys/nvme7") + "\n" : "") +
                                 also_);
    std::filesystem::permissions(root_ / "/bin/nvme", std::filesystem::perms::owner_all);
    nvme_tcp::Connection one;
    one.server = {server, 4420, "models", 1};
    std::string command = unit_setting(nvme_tcp::render_unit(one), "Service", "ExecStart").value_or("exit 99");
    replace_each(command, "$$", "$");
    replace_each(command, "%%", "%");
    replace_each(command, "/sys/class/nvme", at("/sys"));
    replace_each(command, "/run/", at("/run/"));
    const std::vector<std::string> argv{"/bin/sh", "-c", "PATH=" + at("/bin") + ":$PATH; export PATH; " + command};
    const auto output = run_and_capture(argv);
    if (!output) return -1;
    errors = output->standard_error;
    return output->exit_status;
  }
  bool asked_to_connect() const { return root_.exists("/calls"); }
  bool is_removed(const std::string& name) const { return root_.read("/sys/" + name + "/delete_controller") == "1\n"; }
  bool retries_without_end(const std::string& name) const {
    return root_.read("/sys/" + name + "/ctrl_loss_tmo") == "-1\n";
  }

  std::string errors;

 private:
  std::string at(const std::string& inside) const { return (root_ / inside).string(); }

  test::ScratchDirectory root_;
  std::string says_;
  std::string also_;
  bool removed_at_once_ = false;
};

}  // namespace

TEST_CASE("nvme unit: a connection to the declared server is kept, and retried without end") {
  Machine machine;
  machine.add("nvme0", "other", "10.0.0.8");
  machine.add("nvme1", "models", kServer);
  CHECK(machine.connect() == 0);
  CHECK(machine.retries_without_end("nvme1"));
  CHECK_FALSE(machine.retries_without_end("nvme0"));
  CHECK_FALSE(machine.asked_to_connect());
}

TEST_CASE(
    "nvme unit: a controller of that name at another server, port or transport is not taken for the declared one") {
  Machine machine;
  machine.server_names("models");
  SECTION("another address") { machine.add("nvme0", "models", "10.0.0.8"); }
  SECTION("an address that begins alike") { machine.add("nvme0", "models", "10.0.0.99"); }
  SECTION("another port") { machine.add("nvme0", "models", kServer, "44200"); }
  SECTION("another transport") { machine.add("nvme0", "models", kServer, kPort, "rdma"); }
  CHECK(machine.connect() == 0);
  CHECK(machine.asked_to_connect());
  CHECK_FALSE(machine.retries_without_end("nvme0"));
  CHECK_FALSE(machine.is_removed("nvme0"));
  CHECK_FALSE(machine.is_removed("nvme7"));
}

TEST_CASE("nvme unit: a server that names the subsystem of another server is disconnected, and not tried again") {
  Machine machine;
  machine.server_names("raid5-data");
  machine.add("nvme0", "raid5-data", "10.0.0.8");
  machine.add("nvme1", "by-hand", kServer);
  CHECK(machine.connect() == 65);
  CHECK(machine.is_removed("nvme7"));
  CHECK_FALSE(machine.is_removed("nvme0"));
  CHECK_FALSE(machine.is_removed("nvme1"));
  CHECK(machine.errors.find(std::string(nvme_tcp::kNamesAnother) + "models") != std::string::npos);
  nvme_tcp::Connection one;
  one.server = {kServer, 4420, "models", 1};
  CHECK(unit_setting(nvme_tcp::render_unit(one), "Service", "RestartPreventExitStatus") == "65");
}

TEST_CASE("nvme unit: a controller that a udev rule has removed by then fails the unit in the same way") {
  Machine machine;
  machine.server_names("raid5-data");
  machine.removed_at_once();
  CHECK(machine.connect() == 65);
  CHECK(machine.errors.find(std::string(nvme_tcp::kNamesAnother) + "models") != std::string::npos);
}

TEST_CASE("nvme unit: what a server names is text, and no path and no command") {
  for (const std::string name : {"../../calls", "a b", "*", "$(touch x)", "models /sys/nvme1"}) {
    Machine machine;
    machine.server_names(name);
    machine.add("nvme1", "by-hand", kServer);
    INFO(name);
    CHECK(machine.connect() == 65);
    CHECK(machine.is_removed("nvme7"));
    CHECK_FALSE(machine.is_removed("nvme1"));
  }
}

TEST_CASE("nvme unit: a server that does not answer fails the unit, so that it tries again") {
  Machine machine;
  machine.add("nvme1", "by-hand", kServer);
  CHECK(machine.connect() == 1);
  CHECK_FALSE(machine.is_removed("nvme1"));
}

TEST_CASE("nvme unit: a server whose name does not resolve at that moment is tried again, and not blamed") {
  Machine machine;
  machine.server_names("models");
  CHECK(machine.connect("no-such-server.invalid") == 1);
  CHECK(machine.asked_to_connect());
  CHECK_FALSE(machine.is_removed("nvme7"));
  CHECK(machine.errors.find(std::string(nvme_tcp::kNamesAnother)) == std::string::npos);
}

TEST_CASE("nvme unit: a discovery that another program makes meanwhile is left alone") {
  Machine machine;
  machine.server_names("models");
  machine.meanwhile("nvme8", "nqn.2014-08.org.nvmexpress.discovery");
  CHECK(machine.connect() == 0);
  CHECK_FALSE(machine.is_removed("nvme8"));
}

TEST_CASE("nvme unit: a server by its name is compared by the addresses of that name") {
  Machine machine;
  machine.add("nvme1", "models", "127.0.0.1");
  machine.add("nvme2", "models", "::1");
  CHECK(machine.connect("localhost") == 0);
  CHECK_FALSE(machine.asked_to_connect());
  CHECK((machine.retries_without_end("nvme1") || machine.retries_without_end("nvme2")));
}

TEST_CASE("nvme rules: a server's controller that names the subsystem of another server is removed when it connects") {
  const nvme_tcp::ServersBySubsystem servers{{"llm-models", {"10.0.0.8", 4420}},
                                             {"raid5-data", {"10.0.0.8", 4420}},
                                             {"scratch", {"10.0.0.9", 4421}},
                                             {"by-name", {"storage-01", 4420}}};
  const std::string rules = nvme_tcp::render_rules(servers);
  const auto lines = split_lines(rules);
  const auto line = [](const std::string& address, const std::string& rest) {
    return "ACTION==\"change\", SUBSYSTEM==\"nvme\", ATTR{address}==\"" + address + "|" + address + ",*\", " + rest;
  };
  const std::string first = "traddr=10.0.0.8,trsvcid=4420";
  const std::string second = "traddr=10.0.0.9,trsvcid=4421";
  REQUIRE(lines.size() == 7);
  CHECK(lines[3] == line(first, "ENV{NVME_AEN}=\"\", ENV{NVME_EVENT}=\"\""));
  CHECK(lines[4] == line(first, "ATTR{subsysnqn}==\"scratch\", ATTR{delete_controller}=\"1\""));
  CHECK(lines[5] == line(second, "ENV{NVME_AEN}=\"\", ENV{NVME_EVENT}=\"\""));
  CHECK(lines[6] == line(second, "ATTR{subsysnqn}==\"llm-models|raid5-data\", ATTR{delete_controller}=\"1\""));
}

}  // namespace sparkplan
