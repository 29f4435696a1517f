#include "tests/support/source_folder.h"
#include "tests/unit/rules/layering_rules.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "tests/support/catch.h"

namespace sparkplan {
namespace {

namespace fs = std::filesystem;
using test::layering_violations;
using test::layers_below;

using Names = std::vector<std::string>;

bool allowed(const std::string& path, const std::string& include_line) {
  return layering_violations(path, "#pragma once\n" + include_line + "\nint x;\n").empty();
}

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool is_source(const fs::path& path) {
  const auto extension = path.extension();
  return extension == ".cc" || extension == ".h" || extension == ".hpp" || extension == ".cpp";
}

}  // namespace

TEST_CASE("a layer may include everything below its own layers") {
  CHECK(layers_below("core") == Names{"core"});
  CHECK(layers_below("process") == Names{"core", "process"});
  CHECK(layers_below("resource") == Names{"core", "model", "node", "resource"});
  CHECK(layers_below("remote") == Names{"core", "model", "process", "remote", "remote/config", "remote/discovery",
                                        "remote/keys", "remote/programs", "remote/ssh", "remote/transport", "wire"});
  CHECK(layers_below("agent/facts") == Names{"agent/facts", "agent/kernel", "agent/node", "core", "domain", "model",
                                             "node", "process", "resource", "wire"});
  CHECK(layers_below("fleet/history") == Names{"core", "domain", "fleet/history", "fleet/session", "load", "model",
                                               "node", "plan", "process", "remote", "remote/config", "remote/discovery",
                                               "remote/keys", "remote/programs", "remote/ssh", "remote/transport",
                                               "resource", "wire"});
  CHECK(layers_below("no-such-layer").empty());
}

TEST_CASE("an include of a lower layer is allowed, directly or through other layers") {
  CHECK(allowed("engine/core/text.cc", "#include \"engine/core/text.h\""));
  CHECK(allowed("engine/cli/main.cc", "#include \"engine/core/result.h\""));
  CHECK(allowed("engine/remote/x.cc", "#include \"engine/process/child_process.h\""));
  CHECK(allowed("engine/doctor/x.cc", "#include \"engine/fleet/session/fleet_session.h\""));
  CHECK(allowed("engine/report/x.cc", "#include \"engine/doctor/doctor_run.h\""));
  CHECK(allowed("resources/sysctl/sysctl.cc", "#include \"engine/node/node.h\""));
  CHECK(allowed("resources/sysctl/sysctl.cc", "#include \"resources/sysctl/sysctl.h\""));
}

TEST_CASE("an include of a higher layer is found with its file and line") {
  CHECK(layering_violations("engine/plan/planner.cc", "\n#include \"engine/load/load.h\"\n") ==
        Names{"engine/plan/planner.cc:2: must not include engine/load/load.h"});
  CHECK_FALSE(allowed("engine/core/text.h", "#include \"engine/model/plan.h\""));
  CHECK_FALSE(allowed("engine/wire/frame.h", "#include \"engine/resource/registry.h\""));
  CHECK_FALSE(allowed("engine/wire/frame.h", "#include \"engine/process/child_process.h\""));
  CHECK_FALSE(allowed("engine/fleet/x.cc", "#include \"engine/report/exit_code.h\""));
  CHECK_FALSE(allowed("engine/verify/x.cc", "#include \"engine/report/plan/report.h\""));
  CHECK_FALSE(allowed("engine/agent/session/serve.cc", "#include \"engine/remote/transport/transport.h\""));
  CHECK_FALSE(allowed("engine/remote/x.cc", "#include \"engine/agent/session/serve.h\""));
  CHECK_FALSE(allowed("engine/fleet/x.cc", "#include \"engine/cli/terminal/console.h\""));
  CHECK_FALSE(allowed("engine/load/load.cc", "#include \"engine/plan/planner.h\""));
  CHECK_FALSE(allowed("engine/process/x.cc", "#include \"engine/model/plan.h\""));
  CHECK_FALSE(allowed("resources/sysctl/sysctl.cc", "#include \"engine/plan/planner.h\""));
}

TEST_CASE("within a folder, an include of a higher layer is found too") {
  CHECK(allowed("engine/remote/local_connection.cc", "#include \"engine/remote/programs/agent_image.h\""));
  CHECK(allowed("engine/fleet/apply/x.cc", "#include \"engine/fleet/session/fleet_session.h\""));
  CHECK(allowed("engine/cli/reference/x.cc", "#include \"engine/cli/usage/completion.h\""));
  CHECK_FALSE(allowed("engine/remote/programs/x.cc", "#include \"engine/remote/ssh/ssh_session.h\""));
  CHECK_FALSE(allowed("engine/remote/ssh/x.cc", "#include \"engine/remote/authorized_key.h\""));
  CHECK_FALSE(allowed("engine/fleet/session/x.cc", "#include \"engine/fleet/planning/planning.h\""));
  CHECK_FALSE(allowed("engine/report/text/x.cc", "#include \"engine/plan/report.h\""));
  CHECK_FALSE(allowed("engine/cli/input/x.cc", "#include \"engine/cli/commands/commands.h\""));
}

TEST_CASE("no spelling of an include evades the check") {
  for (const std::string line :
       {"#include <engine/cli/terminal/console.h>", "  #  include   \"engine/cli/terminal/console.h\"  // why not",
        "#include \"engine/cli/deeper/console.h\"", "#include\t\"engine/cli/terminal/console.h\"",
        "#include \"../cli/console.h\"", "#include \"console.h\"", "#include \"tests/support/fake_node.h\""}) {
    INFO(line);
    CHECK_FALSE(allowed("engine/plan/planner.cc", line));
  }
}

TEST_CASE("a resource type includes no other type, and the engine includes none") {
  CHECK_FALSE(allowed("resources/hosts/hosts.cc", "#include \"resources/sysctl/sysctl.h\""));
  CHECK_FALSE(allowed("engine/plan/planner.cc", "#include \"resources/sysctl/sysctl.h\""));
  CHECK_FALSE(allowed("engine/cli/main.cc", "#include \"resources/sysctl/sysctl.h\""));
}

TEST_CASE("each library is included only in its own folder") {
  const std::vector<std::pair<std::string, Names>> homes{
      {"yaml-cpp/yaml.h", {"load"}},
      {"valijson/schema.hpp", {"load"}},
      {"libssh/libssh.h", {"remote/keys", "remote/ssh"}},
      {"netlink/netlink.h", {"agent/kernel"}},
      {"infiniband/verbs.h", {"agent/kernel"}},
      {"nlohmann/json.hpp", {"load"}},
      {"boost/process/child.hpp", {"process"}},
      {"CLI/CLI.hpp", {"cli", "cli/flags", "cli/usage"}},
      {"spdlog/spdlog.h", {"cli/terminal"}},
      {"nccl.h", {"nccl"}},
      {"openssl/evp.h", {"copy"}},
  };
  for (const auto& [header, folders] : homes) {
    for (const std::string layer :
         {"core",      "model",        "node",          "resource",      "wire",          "process",
          "load",      "plan",         "remote",        "remote/keys",   "remote/config", "remote/ssh",
          "agent",     "agent/kernel", "agent/session", "fleet/session", "cli",           "cli/flags",
          "cli/usage", "cli/terminal", "cli/commands",  "doctor",        "verify",        "report",
          "nccl",      "copy"}) {
      INFO(header << " in " << layer);
      const bool at_home = std::find(folders.begin(), folders.end(), layer) != folders.end();
      CHECK(allowed("engine/" + layer + "/x.cc", "#include <" + header + ">") == at_home);
    }
    CHECK_FALSE(allowed("resources/sysctl/x.cc", "#include <" + header + ">"));
  }
  CHECK(allowed("resources/netplan/x.cc", "#include <yaml.h>"));
  CHECK_FALSE(allowed("resources/sysctl/x.cc", "#include <yaml.h>"));
  CHECK_FALSE(allowed("engine/load/x.cc", "#include <yaml.h>"));
  CHECK(allowed("engine/core/x.cc", "#include <string>"));
  CHECK(allowed("engine/core/result.h", "#include <tl/expected.hpp>"));
}

TEST_CASE("a folder that is not a layer is found") {
  CHECK_FALSE(layering_violations("engine/helpers/x.cc", "int x;\n").empty());
  CHECK_FALSE(layering_violations("engine/x.cc", "int x;\n").empty());
  CHECK_FALSE(layering_violations("engine/remote/helpers/x.cc", "int x;\n").empty());
  CHECK_FALSE(layering_violations("engine/agent/helpers/x.cc", "int x;\n").empty());
}

TEST_CASE("the sources respect the layers") {
  const fs::path root = test::source_folder();
  std::map<std::string, int> files;
  Names violations;
  for (const char* tree : {"engine", "resources"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / tree)) {
      if (!entry.is_regular_file() || !is_source(entry.path())) continue;
      const auto path = fs::relative(entry.path(), root).string();
      if (path.starts_with("engine/cmake/")) continue;
      ++files[tree];
      const auto found = layering_violations(path, read(entry.path()));
      violations.insert(violations.end(), found.begin(), found.end());
    }
  }
  for (const auto& violation : violations) FAIL_CHECK(violation);
  // Otherwise the sources are not in the folder that this test searches.
  CHECK(files["engine"] > 80);
  CHECK(files["resources"] > 8);
}

TEST_CASE("tests/unit has a folder for each room of engine, and no other") {
  const fs::path root = test::source_folder();
  const auto folders_in = [&](const char* tree) {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(root / tree)) {
      if (entry.is_directory()) names.insert(entry.path().filename().string());
    }
    return names;
  };
  std::set<std::string> rooms = folders_in("engine");
  // Build files, declarations alone, and what the tests of job, copy and nccl start as programs.
  for (const char* untested : {"cmake", "packaging", "node", "carried"}) CHECK(rooms.erase(untested) == 1);
  // The folder of the types, and the folder of the cases that read the sources.
  rooms.insert({"resources", "rules"});
  CHECK(folders_in("tests/unit") == rooms);
}

TEST_CASE("a folder has few enough sources to find one by its name") {
  constexpr int kMostSources = 45;
  const fs::path root = test::source_folder();
  std::map<std::string, int> sources;
  for (const char* tree : {"engine", "resources", "tests"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / tree)) {
      if (!entry.is_regular_file() || !is_source(entry.path())) continue;
      ++sources[fs::relative(entry.path().parent_path(), root).string()];
    }
  }
  for (const auto& [folder, count] : sources) {
    INFO(folder << " has " << count << " sources");
    CHECK(count <= kMostSources);
  }
  CHECK(sources["engine/core"] > 0);
  CHECK(sources["tests/unit/rules"] > 0);
}

}  // namespace sparkplan
