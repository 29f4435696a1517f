// The completion scripts, run in the shells that they are for.
#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <vector>

#include "engine/cli/usage/completion.h"
#include "engine/core/text.h"
#include "tests/support/source_folder.h"
#include "tests/unit/agent/scratch.h"
#include "tests/unit/cli/program.h"

namespace sparkplan {
namespace {

using test::ScratchDirectory;
using Words = std::set<std::string>;

const std::string kDocuments = test::source_folder() + "/docs/completion/";
const std::string kDrivers = test::source_folder() + "/tests/unit/cli/shells/";

struct Shell {
  std::string name;
  std::vector<std::string> command;  ///< Without the user's own files.
  std::string script;                ///< The script in the repository.
};

const std::vector<Shell>& all_shells() {
  static const std::vector<Shell> shells{Shell{"bash", {"bash", "--norc"}, kDocuments + "sparkplan.bash"},
                                         Shell{"zsh", {"zsh", "-f"}, kDocuments + "_sparkplan"},
                                         Shell{"fish", {"fish", "--no-config"}, kDocuments + "sparkplan.fish"}};
  return shells;
}

bool is_here(const Shell& shell) {
  auto probe = shell.command;
  probe.insert(probe.end(), {"-c", "exit 0"});
  const auto ran = run_and_capture(probe);
  return ran && ran->exit_status == 0;
}

std::vector<Shell> shells() {
  auto found = all_shells();
  std::erase_if(found, [](const Shell& shell) { return !is_here(shell); });
  return found;
}

/// The words that the shell offers at the end of each line, in a directory, without the descriptions. One start of a
/// shell costs more than a hundred lines.
std::vector<Words> offers(const Shell& shell, const std::string& script, const ScratchDirectory& folder,
                          const std::vector<std::string>& lines) {
  auto command = shell.command;
  command.insert(command.end(), {kDrivers + "offers." + shell.name, script, folder.path().string()});
  command.insert(command.end(), lines.begin(), lines.end());
  const auto output = run_and_capture(command, {std::chrono::minutes(5)});
  REQUIRE(output);
  INFO(shell.name << ": " << lines.front() << " ...\n" << output->standard_error);
  REQUIRE(output->exit_status == 0);
  CHECK(output->standard_error.empty());
  std::vector<Words> all(1);
  for (const auto offer : split_lines(output->standard_output)) {
    if (offer == "\x1e") {
      all.emplace_back();
    } else {
      all.back().emplace(offer.substr(0, offer.find('\t')));
    }
  }
  all.pop_back();
  REQUIRE(all.size() == lines.size());
  return all;
}

Words offers(const Shell& shell, const ScratchDirectory& folder, const std::string& line) {
  return offers(shell, shell.script, folder, std::vector{line}).front();
}

struct Line {
  std::string text;
  Words offered;
};

/// Checks what the shell offers at the end of each line.
void check_offers(const Shell& shell, const ScratchDirectory& folder, const std::vector<Line>& lines) {
  std::vector<std::string> texts;
  for (const auto& line : lines) texts.push_back(line.text);
  const auto found = offers(shell, shell.script, folder, texts);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    INFO(shell.name << ": " << lines[i].text);
    CHECK(found[i] == lines[i].offered);
  }
}

Words names_of(const std::vector<OptionUsage>& options) {
  Words names;
  for (const auto& option : options) names.insert(option.names.begin(), option.names.end());
  return names;
}

Words commands() {
  Words names;
  for (const auto& command : program_usage().commands) names.insert(command.name);
  return names;
}

/// With the built program in $PATH, and again without.
struct ProgramInPath {
  ProgramInPath() : before(std::getenv("PATH")) {
    const std::string folder = std::filesystem::path(SPARKPLAN_BINARY).parent_path().string();
    ::setenv("PATH", (folder + ":" + before).c_str(), 1);
    ::unsetenv("SPARKPLAN_CLUSTER");
  }
  ~ProgramInPath() { ::setenv("PATH", before.c_str(), 1); }
  std::string before;
};

bool takes_file(const CommandUsage& command) {
  return !command.arguments.empty() && is_path(command.arguments[0].name);
}

}  // namespace

TEST_CASE("bash, zsh and fish are installed for the completion tests") {
  for (const auto& shell : all_shells()) {
    if (!is_here(shell)) WARN("SKIPPED: " + shell.name + " is not installed");
  }
}

TEST_CASE("every shell offers all commands, and completes a partly typed one") {
  const ScratchDirectory folder;
  for (const auto& shell : shells()) {
    check_offers(shell, folder,
                 {{"sparkplan ", commands()},
                  {"sparkplan pl", {"plan"}},
                  {"sparkplan -q --workers 4 --timeout=5s pl", {"plan"}},
                  {"sparkplan nothing-like-it", {}}});
  }
}

TEST_CASE("every shell offers exactly the options that a command takes") {
  const ScratchDirectory folder;
  const auto program = program_usage();
  const auto general = names_of(program.options);
  std::vector<Line> lines{{"sparkplan -", general}};
  for (const auto& command : program.commands) {
    auto expected = names_of(command.options);
    expected.insert(general.begin(), general.end());
    lines.push_back({"sparkplan " + command.name + " -", expected});
  }
  for (const auto& shell : shells()) check_offers(shell, folder, lines);
}

TEST_CASE("every shell offers files only where a path is expected") {
  const ScratchDirectory folder;
  folder.write("/cluster.yaml", "");
  const auto file_if = [](bool expected) { return expected ? Words{"cluster.yaml"} : Words{}; };
  std::vector<Line> lines;
  for (const auto& command : program_usage().commands) {
    const auto begun = "sparkplan " + command.name + " ";
    lines.push_back({begun + "clu", file_if(takes_file(command))});
    for (const auto& option : command.options) {
      if (option.value.empty()) continue;
      for (const auto& name : option.names) lines.push_back({begun + name + " clu", file_if(is_path(option.value))});
    }
  }
  lines.push_back({"sparkplan --log-file clu", {"cluster.yaml"}});
  lines.push_back({"sparkplan --workers clu", {}});
  lines.push_back({"sparkplan plan --log-file clu", {"cluster.yaml"}});
  for (const auto& shell : shells()) {
    check_offers(shell, folder, lines);
    const auto joined = offers(shell, folder, "sparkplan drift --textfile=clu");
    CHECK((joined == Words{"cluster.yaml"} || joined == Words{"--textfile=cluster.yaml"}));
  }
}

TEST_CASE("every shell offers the allowed words of an argument") {
  const ScratchDirectory folder;
  for (const auto& shell : shells()) {
    check_offers(shell, folder,
                 {{"sparkplan completion ", {"bash", "zsh", "fish"}}, {"sparkplan completion z", {"zsh"}}});
  }
}

TEST_CASE("every shell offers levels, formats and commands where they are expected") {
  const ScratchDirectory folder;
  for (const auto& shell : shells()) {
    check_offers(shell, folder,
                 {{"sparkplan verify --level r", {"rdma"}},
                  {"sparkplan export --format an", {"ansible"}},
                  {"sparkplan help rollb", {"rollback"}},
                  // Their COMMAND is a program of the nodes.
                  {"sparkplan exec rollb", {}},
                  {"sparkplan run -- rollb", {}}});
  }
}

TEST_CASE("every shell offers saved plans, which their content shows, also those below plans/") {
  const ScratchDirectory folder;
  const std::string plan = "{\n \"sparkplan_plan\": {\n  \"format_version\": \"1.0\"}}\n";
  folder.write("/change.plan", plan);
  folder.write("/change.txt", "sparkplan_plan\n");
  folder.write("/plans/monday", plan);
  folder.write("/plans/notes", "nothing\n");
  folder.write("/cluster.yaml", "version: 1\n");
  for (const auto& shell : shells()) {
    check_offers(shell, folder,
                 {{"sparkplan show ch", {"change.plan"}},
                  {"sparkplan show clu", {"cluster.yaml"}},
                  {"sparkplan apply ch", {"change.plan", "change.txt"}},
                  {"sparkplan apply clu", {"cluster.yaml"}}});
    for (const std::string command : {"show", "apply"}) {
      INFO(shell.name << ": " << command);
      const Words found = offers(shell, folder, "sparkplan " + command + " pla");
      CHECK(found.contains("plans/monday"));
      CHECK_FALSE(found.contains("plans/notes"));
    }
  }
}

TEST_CASE("every shell offers the nodes of the file") {
  const ProgramInPath program;
  const ScratchDirectory folder;
  const std::string nodes =
      "nodes:\n  - {name: spark-01, address: 10.0.0.11}\n  - {name: spark-02, address: 10.0.0.12}\n";
  folder.write("/cluster.yaml", "version: 1\nname: lab\n" + nodes);
  folder.write("/other.yaml", "version: 1\nname: lab\nnodes:\n  - {name: login, address: 10.0.0.13}\n");
  const Words all{"spark-01", "spark-02"};
  for (const auto& shell : shells()) {
    check_offers(shell, folder,
                 {{"sparkplan plan --only ", all},
                  {"sparkplan facts spark-0", all},
                  {"sparkplan rollback spark-02", {"spark-02"}},
                  {"sparkplan -f other.yaml unlock ", {"login"}},
                  {"sparkplan facts -f other.yaml ", {"login"}}});
  }
}

TEST_CASE("the output of `sparkplan completion` can be sourced and gives the same completions") {
  const ScratchDirectory folder;
  for (const auto& shell : shells()) {
    INFO(shell.name);
    const auto printed = test::sparkplan({"completion", shell.name});
    CHECK(printed.exit_status == 0);
    CHECK(printed.standard_output == completion_script(shell.name, program_usage()));
    folder.write("/script", printed.standard_output);
    CHECK(offers(shell, (folder / "/script").string(), folder, {"sparkplan dri"}).front() == Words{"drift"});
  }
  CHECK(test::sparkplan({"completion", "tcsh"}).exit_status == 1);
  CHECK(test::sparkplan({"completion"}).exit_status == 1);
}

}  // namespace sparkplan
