// Secrets from plan to removal, with real agents: where the value is, and where it is not.
#include <algorithm>
#include <cstdlib>

#include "engine/core/json.h"
#include "engine/fleet/session/cluster_secrets.h"
#include "engine/load/load.h"
#include "engine/report/exit_code.h"
#include "engine/report/plan/report.h"
#include "engine/resource/secret_artifact.h"
#include "tests/support/catch.h"
#include "tests/support/has.h"
#include "tests/support/saved_text.h"
#include "tests/unit/fleet/bench.h"

namespace sparkplan {
namespace {

using test::changes;
using test::exit_of;
using test::FleetBench;
using test::standing;

using Lines = std::vector<std::string>;

constexpr auto kSecretSections =
    "profile_env:\n  HF_TOKEN: {secret: {env: SPARKPLAN_CANARY}, users: [root]}\n"
    "files:\n  - {path: /etc/app.token, content: {secret: {env: SPARKPLAN_CANARY}}}\n";
constexpr auto kVariableFile = "/etc/sparkplan/secrets/root/HF_TOKEN";
constexpr auto kContentFile = "/etc/app.token";
constexpr std::string_view kFirstValue = "canary-first-7f3a";
constexpr std::string_view kSecondValue = "canary-second-7f3a";

struct SecretBench : FleetBench {
  explicit SecretBench(std::size_t nodes) : FleetBench(nodes) {
    sections = kSecretSections;
    for (std::size_t i = 1; i <= nodes; ++i) {
      root(i).write("/etc/ssh/ssh_host_ed25519_key", "a private key of n" + std::to_string(i));
      root(i).write("/etc/passwd", "root:x:0:0::/root:/bin/sh\n");
    }
  }
  /// As `plan` and `apply` read it.
  void has_value(std::string_view value) {
    ::setenv("SPARKPLAN_CANARY", std::string(value).c_str(), 1);
    const auto loaded = load_cluster(file(), "cluster.yaml", builtin_registry());
    REQUIRE(loaded.cluster);
    auto read = std::make_shared<ClusterSecrets>();
    REQUIRE(read->read(needed_secrets(*loaded.cluster, {}), *loaded.cluster, {}).empty());
    run.secrets = std::move(read);
  }
  /// As `drift` and all other commands.
  void reads_nothing() { run.secrets = nullptr; }

  /// The node's files that contain the text.
  Lines files_with(std::size_t number, std::string_view text) const {
    Lines found;
    for (const auto& [name, content] : root(number).tree()) {
      if (content.find(text) != std::string::npos) found.push_back(name);
    }
    return found;
  }
};

std::string whole_text(const Report& report) {
  TextStyle style;
  style.width = 1000;
  style.verbose = true;
  return to_text(report, style) + encode_json(to_json_value(report));
}

using test::has;

}  // namespace

TEST_CASE("secrets: a value is in its files alone, and in no report, plan or record") {
  SecretBench bench(2);
  bench.has_value(kFirstValue);
  const auto plan = bench.plan();
  INFO(whole_text(plan));
  CHECK(has(whole_text(plan), "(secret: environment variable SPARKPLAN_CANARY) new"));
  CHECK_FALSE(has(whole_text(plan), "sparkplan-secret"));
  const auto saved = test::saved_text(bench.saved_plan());
  CHECK_FALSE(has(saved, kFirstValue));
  const auto applied = bench.apply();
  INFO(whole_text(applied));
  REQUIRE(exit_of(applied) == 0);
  CHECK_FALSE(has(whole_text(applied), kFirstValue));
  for (std::size_t number : {1U, 2U})
    CHECK(bench.files_with(number, kFirstValue) == Lines{kContentFile, kVariableFile});
  CHECK(changes(bench.plan()).empty());
}

TEST_CASE("secrets: a plan writes no key") {
  SecretBench bench(1);
  bench.has_value(kFirstValue);
  const auto before = bench.whole_trees();
  bench.plan();
  CHECK(bench.whole_trees() == before);
}

TEST_CASE("secrets: two nodes have different digests of one value") {
  SecretBench bench(2);
  bench.has_value(kFirstValue);
  bench.apply_all();
  CHECK(bench.root(1).read(std::string(kSecretKeyFile)) != bench.root(2).read(std::string(kSecretKeyFile)));
}

TEST_CASE("secrets: drift reads no secret, and finds a changed file by the digest of the last apply") {
  SecretBench bench(1);
  bench.has_value(kFirstValue);
  bench.apply_all();
  bench.reads_nothing();
  CHECK(changes(bench.plan()).empty());
  bench.root(1).remove(kVariableFile);
  bench.root(1).write(kVariableFile, "by hand");
  const auto drift = bench.plan();
  INFO(whole_text(drift));
  const auto found = changes(drift);
  CHECK(std::find(found.begin(), found.end(), "n1 update profile_env/HF_TOKEN drift") != found.end());
  CHECK_FALSE(has(whole_text(drift), "by hand"));
}

TEST_CASE("secrets: a new value of the source is a change of the configuration, and apply writes it") {
  SecretBench bench(1);
  bench.has_value(kFirstValue);
  bench.apply_all();
  bench.has_value(kSecondValue);
  const auto plan = bench.plan();
  CHECK(has(whole_text(plan), "(secret: environment variable SPARKPLAN_CANARY) changed"));
  CHECK(changes(plan) == Lines{"n1 update file//etc/app.token config", "n1 update profile_env/HF_TOKEN config"});
  bench.apply_all();
  CHECK(bench.root(1).read(kVariableFile) == kSecondValue);
  CHECK(bench.root(1).read(kContentFile) == kSecondValue);
}

TEST_CASE("secrets: a saved plan is applied with the value that it was made with") {
  SecretBench bench(1);
  bench.has_value(kFirstValue);
  auto decoded = decode_saved_plan(test::saved_text(bench.saved_plan()));
  REQUIRE(decoded);
  bench.options.saved_plan = &*decoded;
  const auto applied = bench.apply();
  INFO(whole_text(applied));
  CHECK(exit_of(applied) == 0);
  CHECK(bench.root(1).read(kContentFile) == kFirstValue);
}

TEST_CASE("secrets: a secret that has changed since the plan was saved makes the plan stale") {
  SecretBench bench(1);
  bench.has_value(kFirstValue);
  auto decoded = decode_saved_plan(test::saved_text(bench.saved_plan()));
  REQUIRE(decoded);
  bench.options.saved_plan = &*decoded;
  bench.has_value(kSecondValue);
  const auto stale = bench.apply();
  INFO(whole_text(stale));
  CHECK(exit_of(stale) == 5);
  CHECK_FALSE(bench.root(1).exists(kContentFile));
  CHECK_FALSE(bench.root(1).exists(kVariableFile));
}

TEST_CASE("secrets: a rollback restores the former value from the node itself") {
  SecretBench bench(1);
  bench.has_value(kFirstValue);
  bench.apply_all();
  bench.has_value(kSecondValue);
  bench.apply_all();
  bench.reads_nothing();
  bench.run.command = "rollback";
  bench.options.rollback = Lines{};
  bench.options.allow_prune = true;
  const auto report = bench.apply();
  INFO(whole_text(report));
  CHECK(exit_of(report) == 0);
  CHECK(bench.root(1).read(kVariableFile) == kFirstValue);
  CHECK(bench.root(1).read(kContentFile) == kFirstValue);
  CHECK_FALSE(has(whole_text(report), "canary"));
}

TEST_CASE("secrets: a removal removes the files, and their directories") {
  SecretBench bench(1);
  bench.root(1).write(kContentFile, "before sparkplan");
  bench.has_value(kFirstValue);
  bench.apply_all();
  bench.sections = "";
  bench.reads_nothing();
  bench.options.allow_prune = true;
  bench.apply_all();
  CHECK_FALSE(bench.root(1).exists("/etc/sparkplan"));
  CHECK(bench.root(1).read(kContentFile) == "before sparkplan");
}

TEST_CASE("secrets: a file that was there in clear is never shown, before or after it becomes a secret") {
  SecretBench bench(1);
  bench.root(1).write(kContentFile, std::string(kFirstValue));
  bench.has_value(kFirstValue);
  CHECK_FALSE(has(whole_text(bench.plan()), kFirstValue));
  bench.apply_all();
  bench.sections = "files:\n  - {path: /etc/app.token, content: clear}\n";
  bench.reads_nothing();
  bench.options.allow_prune = true;
  CHECK_FALSE(has(whole_text(bench.plan()), kFirstValue));
  bench.apply_all();
  CHECK(bench.root(1).read(kContentFile) == "clear");
}

TEST_CASE("secrets: a text that becomes a secret is written again, and restored at the end") {
  SecretBench bench(1);
  bench.sections = "files:\n  - {path: /etc/app.token, content: clear}\n";
  bench.apply_all();
  bench.sections = kSecretSections;
  bench.has_value(kFirstValue);
  bench.apply_all();
  CHECK(bench.root(1).read(kContentFile) == kFirstValue);
  bench.sections = "";
  bench.reads_nothing();
  bench.options.allow_prune = true;
  bench.apply_all();
  CHECK_FALSE(bench.root(1).exists(kContentFile));
}

}  // namespace sparkplan
