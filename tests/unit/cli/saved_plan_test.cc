// Saved plans as the program accepts them: a user may have edited them.
#include <sys/stat.h>

#include <functional>

#include "engine/cli/input/plan_signature.h"
#include "engine/load/load.h"
#include "engine/plan/saved_plan.h"
#include "tests/support/saved_text.h"
#include "tests/unit/agent/scratch.h"
#include "tests/unit/cli/program.h"

namespace sparkplan {
namespace {

using test::contains;
using test::ScratchDirectory;
using test::sparkplan;

constexpr auto kProfileFile = "/etc/profile.d/sparkplan-env.sh";
constexpr auto kMachineId = "0123456789abcdef0123456789abcdef";

/// A desk with a cluster.yaml, and the directory that is its only node.
struct Desk {
  Desk() {
    node.write("/etc/machine-id", std::string(kMachineId) + "\n");
    cluster("profile_env: {HF_HOME: /mnt/hf}\n");
  }

  void cluster(const std::string& sections) const {
    desk.write("cluster.yaml", "version: 1\nname: lab\n" + sections +
                                   "nodes:\n  - {name: n1, id: 1, transport: local, root: \"" + node.path().string() +
                                   "\"}\n");
  }
  std::string path(const std::string& name) const { return (desk.path() / name).string(); }
  CapturedOutput make_plan() const { return sparkplan({"plan", path("cluster.yaml"), "-o", path("change.plan")}); }
  CapturedOutput show(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"show", path("change.plan")});
    return sparkplan(more);
  }
  CapturedOutput apply(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"apply", path("change.plan"), "--yes"});
    return sparkplan(more);
  }
  /// An edited plan has a matching digest, as an editor of plans can compute one.
  void edit(const std::function<void(SavedPlan&)>& change) const {
    auto plan = decode_saved_plan(desk.read("change.plan"));
    REQUIRE(plan);
    change(*plan);
    desk.write("change.plan", test::saved_text(*plan));
  }
  bool untouched() const { return !node.exists(kProfileFile) && !node.exists("/var/lib/sparkplan"); }

  ScratchDirectory desk;
  ScratchDirectory node;
};

/// Both commands refuse the plan with exit 1 and these words, and change nothing.
void check_refused(const Desk& desk, const std::string& words) {
  for (const auto& run : {desk.show(), desk.apply()}) {
    INFO(run.standard_error);
    CHECK(run.exit_status == 1);
    CHECK(contains(run.standard_error, words));
  }
  CHECK(desk.untouched());
}

}  // namespace

TEST_CASE("show prints the machine, its connection and waiting values, in text and in JSON") {
  const Desk desk;
  REQUIRE(desk.make_plan().exit_status == 0);
  const auto shown = desk.show();
  INFO(shown.standard_output << shown.standard_error);
  REQUIRE(shown.exit_status == 0);
  CHECK(contains(shown.standard_output, std::string("machine-id ") + kMachineId));
  CHECK(contains(shown.standard_output, "the directory " + desk.node.path().string()));
  CHECK(contains(shown.standard_output, "HF_HOME"));
  const auto json = desk.show({"--json"}).standard_output;
  CHECK(contains(json, std::string("\"machine_id\": \"") + kMachineId + "\""));
  CHECK(contains(json, "\"reached\""));
}

TEST_CASE("a plan whose display does not match its cluster.yaml is refused before any contact") {
  const Desk desk;
  const auto with = [&](const std::string& words, const std::function<void(SavedPlan&)>& change) {
    INFO(words);
    REQUIRE(desk.make_plan().exit_status == 0);
    desk.edit(change);
    check_refused(desk, words);
  };
  with("is shown at 10.0.0.1", [](SavedPlan& plan) { plan.report.nodes[0].address = "10.0.0.1"; });
  with("does not name n9", [](SavedPlan& plan) {
    plan.machines["n9"] = plan.machines["n1"];
    plan.machines.erase("n1");
    plan.report.nodes[0].name = "n9";
  });
  with("was not made from the cluster.yaml in it",
       [](SavedPlan& plan) { plan.source.replace(plan.source.find("/mnt/hf"), 7, "/mnt/xx"); });
  with("that its cluster.yaml does not name", [](SavedPlan& plan) { plan.beside["hidden"] = "text"; });
  with("another selection", [](SavedPlan& plan) { plan.only = {"n1"}; });
  with("cannot be loaded", [](SavedPlan& plan) { plan.source = "version: nonsense\n"; });
}

TEST_CASE("a cluster.yaml in a plan reads no file of the applying machine") {
  const Desk desk;
  desk.desk.write("secret.txt", "the secret of the reader");
  REQUIRE(desk.make_plan().exit_status == 0);
  for (const std::string name : {"/etc/passwd", "~/.ssh/id_ed25519", "../../etc/passwd", "secret.txt"}) {
    INFO(name);
    desk.edit([&](SavedPlan& plan) {
      const auto before = plan.source.find("nodes:");
      plan.source =
          "version: 1\nname: lab\nfiles: [{path: /etc/copy, source: \"" + name + "\"}]\n" + plan.source.substr(before);
    });
    check_refused(desk, "cannot be loaded: cannot use");
    CHECK_FALSE(contains(desk.show().standard_error, "the secret of the reader"));
  }
}

TEST_CASE("an apply uses the file texts saved in the plan, not their current contents") {
  const Desk desk;
  desk.desk.write("motd.txt", "as it was read\n");
  desk.node.write("/etc/hostname", "n1\n");
  desk.cluster("files: [{path: /etc/motd, source: motd.txt}]\n");
  REQUIRE(desk.make_plan().exit_status == 0);
  desk.desk.write("motd.txt", "edited since\n");
  CHECK(contains(desk.show().standard_output, "as it was read"));
  const auto applied = desk.apply();
  INFO(applied.standard_output << applied.standard_error);
  CHECK(applied.exit_status == 0);
  CHECK(desk.node.read("/etc/motd") == "as it was read\n");
}

namespace {

/// A desk with a key, a file of allowed signers and a signed plan.
struct SignedDesk : Desk {
  SignedDesk() {
    REQUIRE(make_plan().exit_status == 0);
    make_key("anna");
    make_key("boris");
    desk.write("allowed_signers", "anna@example " + desk.read("anna.pub") + "boris@example " + desk.read("boris.pub"));
    sign("anna");
  }

  void make_key(const std::string& name) const {
    run({"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", path(name)});
  }
  void sign(const std::string& name, const std::string& purpose = "sparkplan-plan") const {
    desk.remove("change.plan.sig");
    run({"ssh-keygen", "-Y", "sign", "-n", purpose, "-f", path(name), path("change.plan")});
  }
  static void run(const std::vector<std::string>& command) {
    const auto output = run_and_capture(command);
    REQUIRE(output);
    INFO(output->standard_error);
    REQUIRE(output->exit_status == 0);
  }
  std::vector<std::string> by(const std::string& who) const {
    return {"--signed-by", who, "--allowed-signers", path("allowed_signers")};
  }
  /// Both commands refuse, and contact no node.
  void check_not_verified(const std::vector<std::string>& signer, int exit_status, const std::string& words) const {
    for (const auto& output : {show(signer), apply(signer)}) {
      INFO(output.standard_error);
      CHECK(output.exit_status == exit_status);
      CHECK(contains(output.standard_error, words));
      CHECK(contains(output.standard_error, "hint:"));
      CHECK(output.standard_output.empty());
    }
    CHECK(untouched());
  }
};

}  // namespace

TEST_CASE("a signed plan is shown and applied under its signer's name") {
  const SignedDesk desk;
  const auto shown = desk.show(desk.by("anna@example"));
  INFO(shown.standard_error);
  CHECK(shown.exit_status == 0);
  CHECK(contains(shown.standard_error, "Good \"sparkplan-plan\" signature for anna@example"));
  const auto applied = desk.apply(desk.by("anna@example"));
  INFO(applied.standard_output << applied.standard_error);
  CHECK(applied.exit_status == 0);
  CHECK(desk.node.exists(kProfileFile));
}

TEST_CASE("a plan without the required signature is refused, and no node is contacted") {
  const SignedDesk desk;
  SECTION("signed by another person") {
    desk.check_not_verified(desk.by("boris@example"), 9, "not signed by boris@example");
  }
  SECTION("signer not in the allowed signers") {
    desk.check_not_verified(desk.by("carla@example"), 9, "not signed by carla");
  }
  SECTION("edited, with a matching digest") {
    desk.edit([](SavedPlan& plan) { plan.created = "2026-01-01T00:00:00Z"; });
    desk.check_not_verified(desk.by("anna@example"), 9, "not signed by anna@example");
  }
  SECTION("only blanks differ") {
    desk.desk.write("change.plan", desk.desk.read("change.plan") + "\n");
    desk.check_not_verified(desk.by("anna@example"), 9, "not signed by anna@example");
  }
  SECTION("signed for another purpose") {
    desk.sign("anna", "git");
    desk.check_not_verified(desk.by("anna@example"), 9, "not signed by anna@example");
  }
  SECTION("an invalid signature") {
    desk.desk.write("change.plan.sig", "\x1b[2Jnonsense\n");
    desk.check_not_verified(desk.by("anna@example"), 9, "not signed by anna@example");
    CHECK_FALSE(contains(desk.show(desk.by("anna@example")).standard_error, "\x1b"));
  }
  SECTION("not signed") {
    desk.desk.remove("change.plan.sig");
    desk.check_not_verified(desk.by("anna@example"), 1, "the plan has no signature");
  }
  SECTION("no file of allowed signers") {
    desk.desk.remove("allowed_signers");
    desk.check_not_verified(desk.by("anna@example"), 1, "there is no file of allowed signers");
  }
  SECTION("no identity given") {
    desk.check_not_verified({"--allowed-signers", desk.path("allowed_signers")}, 1,
                            "--allowed-signers is given without --signed-by");
  }
}

TEST_CASE("a directory of -o that cannot be examined is an error before any contact") {
  const Desk desk;
  const std::string file = std::string(300, 'x') + "/file";
  for (const auto& output : {sparkplan({"plan", desk.path("cluster.yaml"), "-o", file}),
                             sparkplan({"init", "spark-01.invalid", "-o", file})}) {
    INFO(output.standard_error);
    CHECK(output.exit_status == 1);
    CHECK(contains(output.standard_error, "there is no directory"));
  }
}

TEST_CASE("a parent that ignores the ends of its children lets no signature pass unchecked") {
  const SignedDesk desk;
  const auto show_by = [&](const std::string& who) {
    std::vector<std::string> command{"env", "--ignore-signal=CHLD", SPARKPLAN_BINARY, "show", desk.path("change.plan")};
    for (const std::string& word : desk.by(who)) command.push_back(word);
    auto output = run_and_capture(command);
    REQUIRE(output);
    INFO(output->standard_error);
    return output->exit_status;
  };
  CHECK(show_by("anna@example") == 0);
  CHECK(show_by("boris@example") == 9);
}

TEST_CASE("an empty --signed-by is an error, not an unsigned apply") {
  const SignedDesk desk;
  for (const auto& output : {desk.show(desk.by("")), desk.apply({"--signed-by", ""}),
                             desk.apply({"--signed-by", "anna@example", "--allowed-signers", ""})}) {
    INFO(output.standard_error);
    CHECK(output.exit_status == 1);
    CHECK(contains(output.standard_error, "must not be empty"));
  }
  CHECK(desk.untouched());
}

TEST_CASE("a signature required of a cluster.yaml is a usage error") {
  const SignedDesk desk;
  auto arguments = desk.by("anna@example");
  arguments.insert(arguments.begin(), {"apply", desk.path("cluster.yaml"), "--yes"});
  const auto output = sparkplan(arguments);
  CHECK(output.exit_status == 1);
  CHECK(contains(output.standard_error, "is not a saved plan"));
  CHECK(desk.untouched());
}

TEST_CASE("without ssh-keygen every signature is refused") {
  const SignedDesk desk;
  const SignerOptions signer{"anna@example", desk.path("allowed_signers")};
  const auto text = desk.desk.read("change.plan");
  REQUIRE(verify_plan_signature(text, desk.path("change.plan"), signer));
  const auto verified = verify_plan_signature(text, desk.path("change.plan"), signer, "no-such-ssh-keygen");
  REQUIRE_FALSE(verified);
  CHECK(verified.error().code == ErrorCode::kNotFound);
  CHECK(contains(verified.error().hint, "openssh-client"));
}

TEST_CASE("the verified bytes are the applied bytes, not the file") {
  const SignedDesk desk;
  const SignerOptions signer{"anna@example", desk.path("allowed_signers")};
  const auto text = desk.desk.read("change.plan");
  desk.desk.write("change.plan", "another");
  CHECK(verify_plan_signature(text, desk.path("change.plan"), signer));
  CHECK_FALSE(verify_plan_signature("another", desk.path("change.plan"), signer));
}

}  // namespace sparkplan
