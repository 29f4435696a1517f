// Exit codes and streams of the built program.
#include "engine/core/json.h"
#include "engine/core/text.h"
#include "tests/unit/agent/scratch.h"
#include "tests/unit/cli/program.h"

namespace sparkplan {
namespace {

using test::contains;
using test::ScratchDirectory;
using test::sparkplan;

/// A file of one directory node, both in the scratch directory.
std::string cluster_file(const ScratchDirectory& folder, const std::string& sections) {
  folder.make_directory("/root");
  folder.write("/cluster.yaml", "version: 1\nname: lab\n" + sections +
                                    "nodes:\n  - {name: n1, transport: local, root: \"" + (folder / "/root").string() +
                                    "\"}\n");
  return (folder / "/cluster.yaml").string();
}

constexpr auto kSection = "sysctl: {vm.swappiness: 10}\n";

}  // namespace

TEST_CASE("a usage error is exit 1 with the reason on standard error") {
  const std::vector<std::vector<std::string>> slips{{},
                                                    {"frobnicate"},
                                                    {"plan", "--frobnicate"},
                                                    {"plan", "a.yaml", "b.yaml"},
                                                    {"plan", "--only"},
                                                    {"--workers", "0", "plan"},
                                                    {"--workers", "many", "plan"},
                                                    {"--timeout", "soon", "plan"},
                                                    {"trust"},
                                                    {"schema", "--json"}};
  for (const auto& arguments : slips) {
    INFO(join(arguments, " "));
    const auto output = sparkplan(arguments);
    CHECK(output.exit_status == 1);
    CHECK(output.standard_output.empty());
    CHECK_FALSE(output.standard_error.empty());
  }
}

TEST_CASE("an unreadable file is exit 1 for every command that reads one") {
  for (const std::string command : {"validate", "plan", "drift", "status"}) {
    INFO(command);
    const auto output = sparkplan({command, "/nonexistent/cluster.yaml"});
    CHECK(output.exit_status == 1);
    CHECK(output.standard_output.empty());
    CHECK(contains(output.standard_error, "/nonexistent/cluster.yaml"));
  }
  CHECK(sparkplan({"apply", "--yes", "/nonexistent/cluster.yaml"}).exit_status == 1);
  CHECK(sparkplan({"facts", "-f", "/nonexistent/cluster.yaml"}).exit_status == 1);
  CHECK(sparkplan({"trust", "n1", "-f", "/nonexistent/cluster.yaml"}).exit_status == 1);
}

TEST_CASE("without a file the hint explains how to name one") {
  const auto output = sparkplan({"validate"});
  CHECK(output.exit_status == 1);
  CHECK(contains(output.standard_error, "SPARKPLAN_CLUSTER"));
}

TEST_CASE("a file that cannot be read has a hint that fits the way it was named") {
  const ScratchDirectory folder;
  const auto missing = sparkplan({"plan", "/nonexistent/cluster.yaml"});
  CHECK(contains(missing.standard_error, "hint: correct the path; `sparkplan init` writes a new file"));
  const auto directory = sparkplan({"plan", "-f", folder.path().string()});
  CHECK(contains(directory.standard_error, "is not a regular file"));
  CHECK(contains(directory.standard_error, "hint: name a cluster.yaml"));
  // A hint is part of the error, so it is printed with -q too.
  CHECK(contains(sparkplan({"plan", "-q"}).standard_error, "hint: name the file with -f FILE"));
}

TEST_CASE("show says why a file is no saved plan") {
  const ScratchDirectory folder;
  folder.write("/empty", "");
  const auto file = cluster_file(folder, kSection);
  const auto shown = [](const std::string& path) {
    const auto output = sparkplan({"show", path});
    CHECK(output.exit_status == 1);
    CHECK(contains(output.standard_error, "hint: save a plan with `sparkplan plan -o PLAN`"));
    return output.standard_error;
  };
  CHECK(contains(shown("/nonexistent/plan"), "open /nonexistent/plan: No such file or directory"));
  CHECK(contains(shown(file), file + " is not a saved plan"));
  CHECK(contains(shown((folder / "/empty").string()), "/empty is empty"));
  CHECK(contains(shown(folder.path().string()), "is not a regular file"));
}

TEST_CASE("a NODE that the file does not have is named, with those it has") {
  const ScratchDirectory folder;
  const auto file = cluster_file(folder, kSection);
  for (const auto& command :
       {std::vector<std::string>{"trust", "zz9"}, {"unlock", "--yes", "zz9"}, {"rollback", "--yes", "zz9"}}) {
    auto arguments = command;
    arguments.insert(arguments.end(), {"-f", file});
    INFO(join(arguments, " "));
    const auto output = sparkplan(arguments);
    CHECK(output.exit_status == 1);
    CHECK(contains(output.standard_error, "there is no node zz9 in " + file));
    CHECK(contains(output.standard_error, "hint: available: n1"));
  }
  CHECK(contains(sparkplan({"trust", "n1", "-f", file}).standard_error, "n1 is a directory tree: it has no host key"));
}

TEST_CASE("an invalid file is exit 3 with file, line, column and a caret on standard error") {
  const ScratchDirectory folder;
  const auto file = cluster_file(folder, "sysctl: {vm.swappiness: [1]}\n");
  for (const std::string command : {"validate", "plan", "drift", "status"}) {
    INFO(command);
    const auto output = sparkplan({command, file});
    CHECK(output.exit_status == 3);
    CHECK(output.standard_output.empty());
    CHECK(contains(output.standard_error, file + ":3:25: error: "));
    CHECK(contains(output.standard_error, "vm.swappiness: [1]"));
    CHECK(contains(output.standard_error, "^"));
  }
}

TEST_CASE("a valid file is exit 0 and one line, or nothing with --quiet") {
  const ScratchDirectory folder;
  const auto file = cluster_file(folder, kSection);
  const auto output = sparkplan({"validate", file});
  CHECK(output.exit_status == 0);
  CHECK(output.standard_error.empty());
  CHECK(split_lines(output.standard_output).size() == 1);
  CHECK(sparkplan({"validate", "-q", file}).standard_output.empty());
}

TEST_CASE("validate --json is JSON on standard output, for valid and for invalid files") {
  const ScratchDirectory folder;
  const auto good = sparkplan({"validate", "--json", cluster_file(folder, kSection)});
  CHECK(good.exit_status == 0);
  const auto valid = parse_plain_json(good.standard_output);
  REQUIRE(valid);
  CHECK(valid->text_or("command", "") == "validate");
  CHECK(valid->text_or("cluster", "") == "lab");
  const auto bad = sparkplan({"validate", "--json", cluster_file(folder, "sysctl: {vm.swappiness: [1]}\n")});
  CHECK(bad.exit_status == 3);
  const auto invalid = parse_plain_json(bad.standard_output);
  REQUIRE(invalid);
  const auto* findings = invalid->find("diagnostics");
  REQUIRE(findings != nullptr);
  REQUIRE(findings->list_items() != nullptr);
  CHECK(findings->list_items()->size() == 1);
  CHECK(contains(bad.standard_error, "error: "));
}

TEST_CASE("apply without a terminal and without --yes is exit 1 and writes nothing") {
  const ScratchDirectory folder;
  const auto file = cluster_file(folder, kSection);
  const auto before = folder.tree();
  const auto output = sparkplan({"apply", file});
  CHECK(output.exit_status == 1);
  CHECK(contains(output.standard_error, "--yes"));
  CHECK(folder.tree() == before);
}

TEST_CASE("a password cannot be asked for without a terminal") {
  const ScratchDirectory folder;
  const auto output = sparkplan({"plan", "--ask-become-pass", cluster_file(folder, kSection)});
  CHECK(output.exit_status == 1);
  CHECK(contains(output.standard_error, "terminal"));
}

TEST_CASE("a pattern without a matching node or resource type is exit 1 before any contact") {
  const ScratchDirectory folder;
  const auto file = cluster_file(folder, kSection);
  const auto before = folder.tree();
  for (const std::string option : {"--only", "--exclude"}) {
    for (const std::string pattern : {"n9", "n1/BOGUS_TYPE", "n1/sysctk/vm.*"}) {
      for (const auto& command : {std::vector<std::string>{"plan"}, {"drift"}, {"apply", "--yes"}}) {
        auto arguments = command;
        arguments.insert(arguments.end(), {option, pattern, file});
        INFO(join(arguments, " "));
        const auto output = sparkplan(arguments);
        CHECK(output.exit_status == 1);
        CHECK(output.standard_output.empty());
        CHECK(contains(output.standard_error, "\"" + pattern + "\""));
      }
    }
  }
  CHECK(folder.tree() == before);
  CHECK(sparkplan({"plan", "--only", "n1/sysctl/no.such.name", file}).exit_status == 0);
}

TEST_CASE("a log file that cannot be opened is exit 1") {
  const ScratchDirectory folder;
  folder.write("/file", "");
  const auto output =
      sparkplan({"--log-file", (folder / "/file/log").string(), "validate", cluster_file(folder, kSection)});
  CHECK(output.exit_status == 1);
  CHECK(contains(output.standard_error, "log"));
  CHECK(contains(output.standard_error, "hint: name a file that you can write"));
}

TEST_CASE("the exit codes of plan, apply and drift describe a node's state") {
  const ScratchDirectory folder;
  const auto file = cluster_file(folder, kSection);
  CHECK(sparkplan({"plan", file}).exit_status == 0);
  CHECK(sparkplan({"plan", "--detailed-exitcode", file}).exit_status == 2);
  CHECK(sparkplan({"drift", file}).exit_status == 0);
  CHECK(sparkplan({"drift", "--pending", file}).exit_status == 2);
  const auto applied = sparkplan({"apply", "--yes", "--json", file});
  CHECK(applied.exit_status == 0);
  CHECK(parse_plain_json(applied.standard_output));
  CHECK(sparkplan({"plan", "--detailed-exitcode", file}).exit_status == 0);
  folder.write("/root/etc/sysctl.d/90-sparkplan.conf", "vm.swappiness = 11\n");
  const auto metrics = (folder / "/drift.prom").string();
  CHECK(sparkplan({"drift", "-q", "--textfile", metrics, file}).exit_status == 2);
  CHECK(contains(folder.read("/drift.prom"), "sparkplan_drift{node=\"n1\",type=\"sysctl\"}"));
  // Cron mails all output.
  CHECK(sparkplan({"apply", "--yes", file}).exit_status == 0);
  const auto quiet = sparkplan({"drift", "-q", file});
  CHECK(quiet.exit_status == 0);
  CHECK(quiet.standard_output.empty());
  CHECK(quiet.standard_error.empty());
}

TEST_CASE("plan and apply say why they do not compare content on a directory, and nothing has failed") {
  const ScratchDirectory folder;
  const auto file = cluster_file(folder, std::string(kSection) + "models: [{path: /srv/models/a}]\n");
  const std::string note = "n1: /srv/models/a: not compared";
  const auto planned = sparkplan({"plan", file});
  CHECK(contains(planned.standard_error, note));
  CHECK_FALSE(contains(planned.standard_error, "failed"));
  CHECK_FALSE(contains(planned.standard_error, "no node that was read"));
  const auto applied = sparkplan({"apply", "--yes", file});
  CHECK(applied.exit_status == 0);
  CHECK(contains(applied.standard_error, note));
  const auto in_json = sparkplan({"apply", "--yes", "--json", file});
  CHECK(in_json.exit_status == 0);
  CHECK(contains(in_json.standard_output, "\"content.not-compared\""));
  CHECK_FALSE(contains(sparkplan({"apply", "--yes", "-q", file}).standard_error, note));
  const auto without_content = sparkplan({"apply", "--yes", "--json", cluster_file(folder, kSection)});
  CHECK_FALSE(contains(without_content.standard_output, "\"content."));
}

TEST_CASE("version, types and schema need no file") {
  const auto version = sparkplan({"version"});
  CHECK(version.exit_status == 0);
  CHECK(contains(version.standard_output, "sparkplan "));
  CHECK(contains(version.standard_output, "agent "));
  const auto types = sparkplan({"types"});
  CHECK(types.exit_status == 0);
  CHECK(contains(types.standard_output, "sysctl"));
  const auto schema = sparkplan({"schema"});
  CHECK(schema.exit_status == 0);
  CHECK(parse_plain_json(schema.standard_output));
}

}  // namespace sparkplan
