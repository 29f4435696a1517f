// The command lines for login shells, and the installer's script, run below a prefix.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "engine/core/text.h"
#include "engine/process/child_process.h"
#include "engine/remote/transport/remote_commands.h"
#include "tests/support/catch.h"
#include "tests/support/source_folder.h"
#include "tests/unit/agent/scratch.h"

namespace sparkplan {
namespace {

using test::ScratchDirectory;

const std::string kFolder = "/usr/local/libexec/sparkplan";
constexpr std::array kPrograms{RemoteProgram::kAgent,         RemoteProgram::kInstaller, RemoteProgram::kNcclRank,
                               RemoteProgram::kNcclInstaller, RemoteProgram::kJob,       RemoteProgram::kJobInstaller};

bool is_installer(RemoteProgram program) {
  return program == RemoteProgram::kInstaller || program == RemoteProgram::kNcclInstaller ||
         program == RemoteProgram::kJobInstaller;
}
constexpr std::array kElevations{Elevation::kNone, Elevation::kSudo, Elevation::kSudoPassword};

/// A program's command line with its only folder moved below the scratch directory.
std::string below(const ScratchDirectory& root, RemoteProgram program) {
  auto command = remote_command(program, Elevation::kNone);
  const auto folder = (root / "/libexec").string();
  for (auto at = command.find(kFolder); at != std::string::npos; at = command.find(kFolder, at + folder.size())) {
    command.replace(at, kFolder.size(), folder);
  }
  return command;
}

struct Ended {
  int status = -1;
  std::string output;
  std::string error;
};

std::string read_all(int descriptor) {
  std::string text;
  std::array<char, 4096> buffer{};
  for (auto count = ::read(descriptor, buffer.data(), buffer.size()); count > 0;
       count = ::read(descriptor, buffer.data(), buffer.size())) {
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return text;
}

/// Runs a command line as sshd does. `input` must fit into a pipe.
Ended run_in_shell(const std::string& command, const std::string& input) {
  auto child = ChildProcess::start("/bin/sh", {"-c", command});
  REQUIRE(child);
  REQUIRE(input.size() < 60000);
  (void)!::write(child->standard_input(), input.data(), input.size());
  child->close_standard_input();
  Ended ended;
  const auto status = child->wait(std::chrono::seconds(30));
  REQUIRE(status);
  ended.status = *status;
  ended.output = read_all(child->standard_output());
  ended.error = read_all(child->standard_error());
  return ended;
}

std::string packed(const std::string& bytes) {
  const ScratchDirectory scratch;
  scratch.write("/bytes", bytes);
  const auto gzip = run_and_capture(std::vector<std::string>{"gzip", "-nc", (scratch / "/bytes").string()});
  REQUIRE(gzip);
  REQUIRE(gzip->exit_status == 0);
  return gzip->standard_output;
}

std::string put(const std::string& bytes) { return std::string(kInstallerPut) + "\n" + packed(bytes); }

std::string page_on_security() {
  std::ifstream file(test::source_folder() + "/docs/security.md", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

const std::string kProgram = "#!/bin/sh\necho \"I am the agent: $*\"\n";

}  // namespace

TEST_CASE("a command line is always the same single line with balanced quotes") {
  for (const auto program : kPrograms) {
    for (const auto elevation : kElevations) {
      const auto command = remote_command(program, elevation);
      INFO(command);
      CHECK(command == remote_command(program, elevation));
      CHECK(command.find('\n') == std::string::npos);
      CHECK(is_valid_utf8(command));
      const auto quotes = std::count(command.begin(), command.end(), '\'');
      CHECK(quotes == (is_installer(program) ? 2 : 0));
      if (quotes == 2) CHECK(command.back() == '\'');
    }
  }
}

TEST_CASE("elevation adds only sudo in front") {
  for (const auto program : kPrograms) {
    const auto plain = remote_command(program, Elevation::kNone);
    const auto exec = plain.find("exec ") + 5;
    for (const auto& [elevation, sudo] :
         {std::pair(Elevation::kSudo, std::string("sudo -n -- ")),
          std::pair(Elevation::kSudoPassword, "sudo -S -p " + std::string(kSudoPrompt) + " -- ")}) {
      CHECK(remote_command(program, elevation) == plain.substr(0, exec) + sudo + plain.substr(exec));
    }
  }
}

TEST_CASE("every command line and the script inside its quotes are valid for sh") {
  for (const auto program : kPrograms) {
    for (const auto elevation : kElevations) {
      const auto command = remote_command(program, elevation);
      const auto open = command.find('\'');
      std::vector<std::string> texts{command};
      if (open != std::string::npos) texts.push_back(command.substr(open + 1, command.rfind('\'') - open - 1));
      for (const auto& text : texts) {
        INFO(text);
        const std::vector<std::string> argv{"sh", "-n", "-c", text};
        const auto checked = run_and_capture(argv);
        REQUIRE(checked);
        CHECK(checked->exit_status == 0);
        CHECK(checked->standard_error.empty());
      }
    }
  }
}

TEST_CASE("the agent's command line reports a missing agent by its status, and passes the arguments") {
  const ScratchDirectory root;
  const auto command = below(root, RemoteProgram::kAgent);
  CHECK(run_in_shell(command, "").status == kNoAgentStatus);
  root.write("/libexec/agent", kProgram);
  CHECK(run_in_shell(command, "").status == kNoAgentStatus);  // Not executable.
  std::filesystem::permissions(root / "/libexec/agent", std::filesystem::perms::owner_all);
  const auto ended = run_in_shell(command, "");
  CHECK(ended.status == 0);
  CHECK(ended.output == "I am the agent: --stdio\n");
}

TEST_CASE("the installer installs the agent, whatever its input contains before the marker") {
  const ScratchDirectory root;
  const auto ended =
      run_in_shell(below(root, RemoteProgram::kInstaller), "hunter2\n\nSPARKPLAN-PUTX\n" + put(kProgram));
  CHECK(ended.status == 0);
  CHECK(ended.error.empty());
  CHECK(ended.output.rfind(std::string(kInstallerGreeting) + " ", 0) == 0);
  CHECK(ended.output.find(std::string(kInstallerDone) + "\n") != std::string::npos);
  CHECK(root.tree() == std::map<std::string, std::string>{{"/libexec/agent", std::to_string(0755) + " " + kProgram}});
  CHECK(run_in_shell(below(root, RemoteProgram::kAgent), "").status == 0);
}

TEST_CASE("the NCCL test program is installed beside the agent and started in the same way") {
  const ScratchDirectory root;
  CHECK(run_in_shell(below(root, RemoteProgram::kNcclRank), "").status == kNoAgentStatus);
  CHECK(run_in_shell(below(root, RemoteProgram::kInstaller), put(kProgram)).status == 0);
  CHECK(run_in_shell(below(root, RemoteProgram::kNcclInstaller), put(kProgram)).status == 0);
  const auto file = std::to_string(0755) + " " + kProgram;
  CHECK(root.tree() == std::map<std::string, std::string>{{"/libexec/agent", file}, {"/libexec/sparkplan-nccl", file}});
  CHECK(run_in_shell(below(root, RemoteProgram::kNcclRank), "").output == "I am the agent: --stdio\n");
}

TEST_CASE("the process starter is installed beside the agent and started in the same way") {
  const ScratchDirectory root;
  CHECK(run_in_shell(below(root, RemoteProgram::kJob), "").status == kNoAgentStatus);
  CHECK(run_in_shell(below(root, RemoteProgram::kJobInstaller), put(kProgram)).status == 0);
  const auto file = std::to_string(0755) + " " + kProgram;
  CHECK(root.tree() == std::map<std::string, std::string>{{"/libexec/sparkplan-job", file}});
  CHECK(run_in_shell(below(root, RemoteProgram::kJob), "").output == "I am the agent: --stdio\n");
}

TEST_CASE("an agent of arbitrary bytes arrives unchanged") {
  const ScratchDirectory root;
  std::string bytes;
  for (int i = 0; i < 50000; ++i) bytes.push_back(static_cast<char>(i * 7 + i / 256));
  CHECK(run_in_shell(below(root, RemoteProgram::kInstaller), put(bytes)).status == 0);
  CHECK(root.read("/libexec/agent") == bytes);
}

TEST_CASE("an agent that arrives damaged or truncated leaves the old one and no temporary file") {
  const ScratchDirectory root;
  root.write("/libexec/agent", "the old one");
  const auto before = root.tree();
  const auto whole = put(kProgram);
  std::string damaged = whole;
  damaged[whole.size() / 2] = static_cast<char>(damaged[whole.size() / 2] + 1);
  for (const auto& input : {damaged, whole.substr(0, whole.size() - 1), whole + "more",
                            whole.substr(0, whole.find('\n') + 1), std::string(kInstallerPut) + "\nno archive"}) {
    INFO(input);
    const auto ended = run_in_shell(below(root, RemoteProgram::kInstaller), input);
    CHECK(ended.status != 0);
    CHECK(ended.output.find(kInstallerDone) == std::string::npos);
    CHECK_FALSE(ended.error.empty());
    CHECK(root.tree() == before);
  }
}

TEST_CASE("the installer starts only the programs that docs/security.md lists") {
  const ScratchDirectory root;
  // The shell finds programs in this folder alone. Each notes its name and does its work.
  const auto programs = (root / "/programs").string();
  const auto log = (root / "/log").string();
  const auto input = put(kProgram);
  const std::string begin = "#!/bin/sh\nPATH=/usr/bin:/bin\n";
  const std::vector<std::string> listed{"gzip", "uname", "mkdir", "chmod", "sync", "mv", "rm"};
  for (const auto& name : listed) {
    root.write("/programs/" + name, begin + "echo " + name + " >>" + log + "\nexec " + name + " \"$@\"\n");
    std::filesystem::permissions(programs + "/" + name, std::filesystem::perms::owner_all);
  }
  const auto installer = "PATH=" + programs + "; export PATH; " + below(root, RemoteProgram::kInstaller);
  const auto installed = run_in_shell(installer, input);
  INFO(installed.error);
  CHECK(installed.status == 0);  // A program that is not listed would be missing.
  CHECK(root.read("/log") == "uname\nmkdir\ngzip\nchmod\nsync\nmv\nsync\n");
  CHECK(run_in_shell(installer, input.substr(0, input.size() - 1)).status != 0);
  CHECK(root.read("/log").ends_with("uname\ngzip\nrm\n"));
  const auto page = page_on_security();
  CHECK(page.find("The installer starts gzip, uname, mkdir, chmod, sync and mv. If it fails, it also starts rm") !=
        std::string::npos);
}

TEST_CASE("an installer without its marker changes nothing") {
  for (const std::string input : {"", "hunter2\n", "SPARKPLAN-PUT"}) {
    INFO(input);
    const ScratchDirectory root;
    const auto ended = run_in_shell(below(root, RemoteProgram::kInstaller), input);
    CHECK(ended.status != 0);
    CHECK(ended.output.find(kInstallerDone) == std::string::npos);
    CHECK_FALSE(root.exists("/libexec/agent"));
  }
}

namespace {

constexpr const char* kKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA== anna@laptop";

/// The key installer's command line in a user's home.
Ended put_key(const ScratchDirectory& home, const std::string& input) {
  return run_in_shell(
      "export HOME='" + home.path().string() + "'; " + remote_command(RemoteProgram::kKeyInstaller, Elevation::kNone),
      input);
}

}  // namespace

TEST_CASE("a key is added once, to a file and a directory that only the user can read") {
  const ScratchDirectory home;
  for (int time = 0; time < 2; ++time) {
    const auto ended = put_key(home, std::string(kKey) + "\n");
    INFO(ended.error);
    CHECK(ended.status == 0);
    CHECK(home.read("/.ssh/authorized_keys") == std::string(kKey) + "\n");
  }
  const auto mode = [&](const std::string& path) {
    return std::filesystem::status(home / path).permissions() & std::filesystem::perms::all;
  };
  CHECK(mode("/.ssh") == std::filesystem::perms::owner_all);
  CHECK(mode("/.ssh/authorized_keys") == (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
}

TEST_CASE("a key is appended to existing lines, also to a last line without a newline") {
  const ScratchDirectory home;
  home.write("/.ssh/authorized_keys", "ssh-rsa AAAA somebody");
  CHECK(put_key(home, std::string(kKey) + "\n").status == 0);
  CHECK(home.read("/.ssh/authorized_keys") == "ssh-rsa AAAA somebody\n" + std::string(kKey) + "\n");
}

TEST_CASE("an empty key is not added, and no part of a key is executed") {
  const ScratchDirectory home;
  CHECK(put_key(home, "").status != 0);
  CHECK(put_key(home, "\n").status != 0);
  CHECK_FALSE(std::filesystem::exists(home / "/.ssh/authorized_keys"));
  const std::string odd = "ssh-ed25519 AAAA $(touch owned) `touch owned` \\n -e \"; touch owned #";
  CHECK(put_key(home, odd + "\n").status == 0);
  CHECK(home.read("/.ssh/authorized_keys") == odd + "\n");
  CHECK_FALSE(std::filesystem::exists(home / "/owned"));
}

}  // namespace sparkplan
