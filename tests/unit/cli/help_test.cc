// The program accepts everything that --help lists.
#include <algorithm>
#include <regex>
#include <set>

#include "engine/cli/flags/command_line.h"
#include "engine/cli/usage/usage_error.h"
#include "engine/core/text.h"
#include "engine/report/text/text_style.h"
#include "tests/unit/agent/scratch.h"
#include "tests/unit/cli/program.h"

namespace sparkplan {
namespace {

using test::contains;
using test::sparkplan;

struct Option {
  std::vector<std::string> names;  ///< "-v", "--verbose"
  std::string value;               ///< "GLOB", "INT:..."; empty for a flag.
};

/// The options that a help text lists.
std::vector<Option> options_in(const std::string& help) {
  std::vector<Option> found;
  const std::regex line("^\\s+(-\\S+)(\\s([A-Z]\\S*))?.*$");
  for (const auto view : split_lines(help)) {
    const std::string text(view);
    std::smatch match;
    if (!std::regex_match(text, match, line)) continue;
    Option option;
    const auto names = match[1].str();
    for (const auto name : split(names, ',')) option.names.emplace_back(name);
    option.value = match[3];
    found.push_back(std::move(option));
  }
  return found;
}

std::vector<std::string> commands_in(const std::string& help) {
  std::vector<std::string> found;
  bool in_list = false;
  const std::regex line("^  ([a-z]+)\\s+\\S.*$");
  for (const auto view : split_lines(help)) {
    const std::string text(view);
    std::smatch match;
    in_list = in_list || text == "Begin:";
    if (in_list && std::regex_match(text, match, line)) found.push_back(match[1]);
  }
  return found;
}

std::string example_of(const std::string& command, const std::string& value, const test::ScratchDirectory& folder) {
  if (value == "GLOB") return "*";
  if (value == "LEVEL") return "mtu";
  if (value == "LAUNCHER") return "torchrun";
  if (value == "FORMAT") return command == "plan" ? "text" : "env";
  if (value == "DURATION") return "1ms";
  if (value == "PATH") return (folder / "/path").string();
  if (value == "FILE") return "/nonexistent/cluster.yaml";
  return "3";
}

bool complains_of_usage(const CapturedOutput& output) {
  return contains(output.standard_error, "--help") || contains(output.standard_error, "not expected");
}

/// The required arguments of a command.
std::vector<std::string> least_arguments(const std::string& command) {
  if (command == "trust" || command == "release" || command == "unlock")
    return {"n1", "-f", "/nonexistent/cluster.yaml"};
  if (command == "facts" || command == "history" || command == "rollback" || command == "sync")
    return {"-f", "/nonexistent/cluster.yaml"};
  if (command == "completion") return {"bash"};
  if (command == "schema" || command == "types" || command == "version" || command == "help") return {};
  return {"/nonexistent/cluster.yaml"};
}

}  // namespace

TEST_CASE("flag --help lists every command on standard output and is exit 0") {
  const auto help = sparkplan({"--help"});
  CHECK(help.exit_status == 0);
  CHECK(help.standard_error.empty());
  const auto commands = commands_in(help.standard_output);
  CHECK(std::set<std::string>(commands.begin(), commands.end()) ==
        std::set<std::string>{"init",  "validate", "export", "plan",   "apply",   "drift",      "status",
                              "facts", "release",  "trust",  "show",   "history", "rollback",   "unlock",
                              "exec",  "run",      "sync",   "verify", "doctor",  "completion", "schema",
                              "types", "version",  "help",   "tune"});
}

TEST_CASE("an unknown flag is a usage error") {
  CHECK(complains_of_usage(sparkplan({"plan", "--not-a-flag", "/nonexistent/cluster.yaml"})));
  CHECK_FALSE(complains_of_usage(sparkplan({"plan", "/nonexistent/cluster.yaml"})));
}

TEST_CASE("an unknown command is named, with the most similar command") {
  const auto mistyped = sparkplan({"aply", "cluster.yaml"});
  CHECK(mistyped.exit_status == 1);
  CHECK(contains(mistyped.standard_error, "there is no command aply; did you mean apply?"));
  const auto strange = sparkplan({"-v", "x\x1by"});
  CHECK(strange.exit_status == 1);
  CHECK(contains(strange.standard_error, "there is no command "));
  CHECK_FALSE(contains(strange.standard_error, "\x1b"));
  CHECK(sparkplan({"--help", "aply"}).exit_status == 0);
}

TEST_CASE("an unknown flag is named, with the most similar flag of the command or of all commands") {
  CHECK(contains(sparkplan({"plan", "--onyl", "n1"}).standard_error, "plan has no flag --onyl; did you mean --only?"));
  CHECK(contains(sparkplan({"plan", "--onyl=n1"}).standard_error, "plan has no flag --onyl; did you mean --only?"));
  CHECK(contains(sparkplan({"plan", "--workrs", "3"}).standard_error, "did you mean --workers?"));
  const auto letter = sparkplan({"plan", "-x"});
  CHECK(contains(letter.standard_error, "plan has no flag -x\n"));
  CHECK(contains(letter.standard_error, "`sparkplan plan --help`"));
  CHECK(contains(sparkplan({"--frobnicate"}).standard_error, "there is no flag --frobnicate"));
  CHECK(contains(sparkplan({"plan", "a", "b"}).standard_error, "plan takes no further argument: b"));
  CHECK(contains(sparkplan({"export", "--format", "ansibel"}).standard_error, "did you mean ansible?"));
}

TEST_CASE("the error about a flag before its command says where the flag belongs") {
  for (const std::string flag : {"--level", "--level=rdma"}) {
    const auto run = sparkplan({flag, "verify"});
    CHECK(run.exit_status == 1);
    CHECK(contains(run.standard_error, "--level comes after the command: sparkplan verify --level\n"));
  }
}

TEST_CASE("a flag of other commands is named with them") {
  const auto other = sparkplan({"plan", "--yes"});
  CHECK(other.exit_status == 1);
  CHECK(contains(other.standard_error, "plan has no flag --yes\n"));
  CHECK(contains(other.standard_error, "--yes is a flag of apply, sync, rollback, unlock, release, trust"));
  CHECK(contains(other.standard_error, "`sparkplan plan --help`"));
  const auto alone = sparkplan({"--splay", "3s"});
  CHECK(contains(alone.standard_error, "no command is given"));
  CHECK(contains(alone.standard_error, "--splay is a flag of drift"));
  // Nearly every command has it.
  CHECK_FALSE(contains(sparkplan({"schema", "--json"}).standard_error, "is a flag of"));
}

TEST_CASE("a flag without its value, or with a value that is no number, is an error that names the flag") {
  CHECK(contains(sparkplan({"plan", "--only"}).standard_error, "plan: --only needs a value: --only GLOB\n"));
  CHECK(contains(sparkplan({"plan", "-f"}).standard_error, "plan: --file needs a value: --file FILE\n"));
  for (const char* wrong : {"0", "257", "x", "1.5", "99999999999999999999"}) {
    INFO(wrong);
    CHECK(contains(sparkplan({"plan", "--workers", wrong}).standard_error,
                   "--workers: \"" + std::string(wrong) + "\" is no number from 1 to 256"));
  }
  const auto soon = sparkplan({"plan", "--timeout", "soon"});
  CHECK(contains(soon.standard_error, "--timeout: \"soon\" is not a valid duration: a number is missing; write 90s"));
}

TEST_CASE("a timeout in which no node can answer is a usage error") {
  const auto output = sparkplan({"plan", "--timeout", "0s"});
  CHECK(output.exit_status == 1);
  CHECK(contains(output.standard_error, "--timeout: \"0s\" is too short: 1ms or more"));
}

TEST_CASE("a command that takes only nodes refuses a pattern for resources") {
  const auto output = sparkplan({"verify", "--only", "n1/sysctl"});
  CHECK(output.exit_status == 1);
  CHECK(contains(output.standard_error, "\"n1/sysctl\" names resources, and this command takes only nodes"));
}

TEST_CASE("a command to start that stands without -- is a usage error that names --") {
  const auto run = sparkplan({"exec", "hostname", "-f"});
  CHECK(run.exit_status == 1);
  CHECK(contains(run.standard_error, "the command comes after `--`"));
}

TEST_CASE("without a command the first steps are shown, with exit 1") {
  const test::ScratchDirectory folder;
  const auto bare = sparkplan({});
  CHECK(bare.exit_status == 1);
  CHECK(bare.standard_output.empty());
  CHECK(contains(bare.standard_error, "sparkplan init"));
  CHECK(contains(first_steps("lab.yaml", true), "lab.yaml is there"));
  CHECK(contains(first_steps("lab.yaml", true), "sparkplan status"));
  CHECK(contains(first_steps("lab.yaml", false), "sparkplan init --discover"));
  CHECK_FALSE(contains(first_steps("x\x1by", true), "\x1b"));
  for (const bool exists : {false, true}) {
    const std::string steps = first_steps("cluster.yaml", exists);
    for (const std::string_view line : split_lines(steps)) CHECK(text_width(line) <= 80);
  }
}

TEST_CASE("help prints what --help prints") {
  CHECK(sparkplan({"help"}).standard_output == sparkplan({"--help"}).standard_output);
  CHECK(sparkplan({"help", "plan"}).standard_output == sparkplan({"plan", "--help"}).standard_output);
  const auto unknown = sparkplan({"help", "plam"});
  CHECK(unknown.exit_status == 1);
  CHECK(contains(unknown.standard_error, "did you mean plan?"));
  CHECK(sparkplan({"--version"}).standard_output == sparkplan({"version"}).standard_output);
}

TEST_CASE("help fits the terminal, and the description of a flag continues in its column") {
  for (const auto& command : commands_in(sparkplan({"--help"}).standard_output)) {
    INFO(command);
    const std::string help = wrapped_help(sparkplan({command, "--help"}).standard_output, 60);
    for (const std::string_view line : split_lines(help)) CHECK(text_width(line) <= 60);
  }
  const std::string one = "  --yes                       do not ask, and do not wait for an answer\n\nA line\n";
  CHECK(wrapped_help(one, 62) ==
        "  --yes                       do not ask, and do not wait for\n"
        "                              an answer\n"
        "\n"
        "A line\n");
}

TEST_CASE("the help of plan and verify names every program that the command writes to a node") {
  const auto help_of = [](const char* command) {
    std::string help = sparkplan({command, "--help"}).standard_output;
    std::replace(help.begin(), help.end(), '\n', ' ');  // The width of the terminal decides where a line ends.
    return help;
  };
  CHECK(contains(help_of("plan"), "plan also installs sparkplan-copy"));
  CHECK(contains(help_of("verify"), "the agent, the program of the NCCL test"));
}

TEST_CASE("the flag -f names the file in every command, before and after it, and only once") {
  const std::string file = "/nonexistent/cluster.yaml";
  for (const auto& command : {std::vector<std::string>{"validate"},
                              {"plan"},
                              {"apply", "--yes"},
                              {"drift"},
                              {"verify"},
                              {"tune"},
                              {"doctor"},
                              {"status"},
                              {"export", "--format", "hostfile"},
                              {"facts"},
                              {"history"}}) {
    auto after = command;
    after.insert(after.end(), {"-f", file});
    auto before = command;
    before.insert(before.begin(), {"-f", file});
    for (const auto& arguments : {after, before}) {
      INFO(join(arguments, " "));
      const auto output = sparkplan(arguments);
      CHECK(output.exit_status == 1);
      CHECK(contains(output.standard_error, file));
      CHECK_FALSE(complains_of_usage(output));
    }
  }
  const auto both = sparkplan({"plan", "a.yaml", "-f", "b.yaml"});
  CHECK(both.exit_status == 1);
  CHECK(contains(both.standard_error, "two files are given"));
}

TEST_CASE("every flag in a command's help is accepted, and so is every general flag") {
  const test::ScratchDirectory folder;
  const auto general = options_in(sparkplan({"--help"}).standard_output);
  CHECK(general.size() >= 8);
  std::size_t tried = 0;
  for (const auto& command : commands_in(sparkplan({"--help"}).standard_output)) {
    const auto help = sparkplan({command, "--help"});
    CHECK(help.exit_status == 0);
    auto options = options_in(help.standard_output);
    REQUIRE_FALSE(options.empty());  // At least -h.
    // General options may also follow the command.
    if (command == "plan") options.insert(options.end(), general.begin(), general.end());
    for (const auto& option : options) {
      for (const auto& name : option.names) {
        std::vector<std::string> arguments{command};
        const auto least = least_arguments(command);
        const bool is_file = option.value == "FILE";
        if (!is_file) arguments.insert(arguments.end(), least.begin(), least.end());
        if (is_file && (command == "trust" || command == "release" || command == "unlock"))
          arguments.emplace_back("n1");
        arguments.push_back(name);
        if (!option.value.empty()) arguments.push_back(example_of(command, option.value, folder));
        INFO(join(arguments, " "));
        const auto output = sparkplan(arguments);
        CHECK_FALSE(complains_of_usage(output));
        ++tried;
      }
    }
  }
  CHECK(tried > 40);
}

TEST_CASE("all flags of the contract exist") {
  const auto has = [](const std::string& command, const std::string& name) {
    for (const auto& option : options_in(sparkplan({command, "--help"}).standard_output)) {
      if (std::find(option.names.begin(), option.names.end(), name) != option.names.end()) return true;
    }
    return false;
  };
  for (const std::string name :
       {"--yes", "--yes-prune", "--all-or-nothing", "--lock-timeout", "--json", "--only", "--exclude"}) {
    INFO(name);
    CHECK(has("apply", name));
  }
  for (const std::string name : {"--json", "--syslog", "--textfile", "--splay", "--pending"}) CHECK(has("drift", name));
  for (const std::string name : {"--json", "--detailed-exitcode", "-o", "--format", "--report"})
    CHECK(has("plan", name));
}

}  // namespace sparkplan
