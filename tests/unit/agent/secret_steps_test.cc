// Steps with secrets: the value is in its file alone, and an undone step has the former value again.
#include "engine/agent/apply/secret_steps.h"

#include <sys/resource.h>

#include <algorithm>

#include "engine/agent/apply/undo.h"
#include "engine/agent/state/journal_reader.h"
#include "engine/resource/secret_artifact.h"
#include "tests/unit/agent/executor_bench.h"

namespace sparkplan::test {
namespace {

constexpr const char* kFile = "/etc/app.token";
constexpr const char* kOld = "canary-old-7f3a";
constexpr const char* kNew = "canary-new-7f3a";

struct SecretBench : ExecutorBench {
  SecretBench() { root.write("/etc/ssh/ssh_host_ed25519_key", "a private key"); }

  std::string key() const {
    const auto found = secret_key(node);
    REQUIRE(found);
    return *found;
  }
  std::string token(const std::string& value) const { return secret_token(key(), value); }

  Observation file(const std::string& value) const {
    FileContent content{token(value), 0400, 0, 0};
    return Present{encode(content), {}};
  }
  Step step(Observation before, Observation after, const std::string& path = kFile) const {
    Step made;
    made.type = "fake";
    made.artifact = file_artifact(path);
    made.before = std::move(before);
    made.after = std::move(after);
    made.resources = {ResourceId{"fake", path}};
    made.group = path;
    return made;
  }

  Result<ApplyReply> apply(const std::vector<Step>& steps, const std::vector<std::string>& values) {
    ++runs;
    auto journal = Journal::open(run_id(), node);
    REQUIRE(journal);
    StepExecutor executor(registry, node, *journal, stop_asked, [](std::string_view) {});
    std::vector<SecretValue> secrets;
    for (const std::string& value : values) secrets.push_back({token(value), value});
    executor.use_secrets(secrets);
    return executor.carry_out(steps, {}, manifest);
  }
  /// The files that contain the text, below the root.
  std::vector<std::string> files_with(const std::string& text) const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root.path())) {
      if (!entry.is_regular_file()) continue;
      const auto inside = "/" + std::filesystem::relative(entry.path(), root.path()).string();
      if (root.read(inside).find(text) != std::string::npos) found.push_back(inside);
    }
    std::sort(found.begin(), found.end());
    return found;
  }
};

std::filesystem::perms mode_of(const SecretBench& bench, const std::string& inside) {
  return std::filesystem::status(bench.root / inside).permissions();
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("secret steps: the value is written to its file, and to no record") {
  SecretBench bench;
  const auto reply = bench.apply({bench.step(Absent{}, bench.file(kNew))}, {kNew});
  REQUIRE(reply);
  CHECK(ExecutorBench::outcomes(*reply) == "done");
  CHECK(bench.root.read(kFile) == kNew);
  CHECK(bench.files_with(kNew) == Names{kFile});
  CHECK(mode_of(bench, kFile) == std::filesystem::perms(0400));
}

TEST_CASE("secret steps: the first apply stores the key for root alone, and a new host key changes no digest") {
  SecretBench bench;
  const std::string key = bench.key();
  REQUIRE(bench.apply({bench.step(Absent{}, bench.file(kNew))}, {kNew}));
  CHECK(mode_of(bench, std::string(kSecretKeyFile)) == std::filesystem::perms(0600));
  bench.root.write("/etc/ssh/ssh_host_ed25519_key", "another private key");
  CHECK(bench.key() == key);
}

TEST_CASE("secret steps: a request without secrets makes no key") {
  SecretBench bench;
  REQUIRE(bench.apply({bench.step(Absent{}, file_present("text", 0644))}, {}));
  CHECK_FALSE(bench.root.exists(std::string(kSecretKeyFile)));
}

TEST_CASE("secret steps: from the first value on the limit of core dumps is zero") {
  SecretBench bench;
  REQUIRE(bench.apply({bench.step(Absent{}, file_present("text", 0644), "/etc/plain")}, {}));
  REQUIRE(bench.apply({bench.step(Absent{}, bench.file(kNew))}, {kNew}));
  rlimit limit{};
  CHECK(::getrlimit(RLIMIT_CORE, &limit) == 0);
  CHECK(limit.rlim_cur == 0);
  CHECK(limit.rlim_max == 0);
}

TEST_CASE("secret steps: a value that does not fit its token is stale, and nothing is written") {
  SecretBench bench;
  ++bench.runs;
  auto journal = Journal::open(bench.run_id(), bench.node);
  REQUIRE(journal);
  StepExecutor executor(bench.registry, bench.node, *journal, bench.stop_asked, [](std::string_view) {});
  executor.use_secrets({{bench.token(kNew), kOld}});
  const auto reply = executor.carry_out({bench.step(Absent{}, bench.file(kNew))}, {}, bench.manifest);
  REQUIRE_FALSE(reply);
  CHECK(reply.error().code == ErrorCode::kStalePlan);
  CHECK_FALSE(bench.root.exists(kFile));
}

TEST_CASE("secret steps: no copy is kept of the file to which a link in the place of a secret leads") {
  SecretBench bench;
  bench.root.write("/srv/theirs", kOld);
  bench.root.make_link(kFile, "/srv/theirs");
  const auto reply = bench.apply({bench.step(bench.file(kOld), bench.file(kNew))}, {kNew});
  REQUIRE(reply);
  CHECK(ExecutorBench::outcomes(*reply) == "failed");
  CHECK(bench.files_with(kOld) == Names{"/srv/theirs"});
}

TEST_CASE("secret steps: a step without its value fails, and leaves the file as it was") {
  SecretBench bench;
  bench.root.write(kFile, kOld);
  auto before = sealed(read_artifact(file_artifact(kFile), *bench.registry.find("fake"), bench.node), bench.node);
  const auto reply = bench.apply({bench.step(std::move(before), bench.file(kNew))}, {});
  REQUIRE(reply);
  CHECK(ExecutorBench::outcomes(*reply) == "failed");
  CHECK(bench.root.read(kFile) == kOld);
}

TEST_CASE("secret steps: a file that has changed since the plan is stale") {
  SecretBench bench;
  REQUIRE(bench.apply({bench.step(Absent{}, bench.file(kOld))}, {kOld}));
  bench.root.remove(kFile);
  bench.root.write(kFile, "by hand");
  const auto reply = bench.apply({bench.step(bench.file(kOld), bench.file(kNew))}, {kNew});
  REQUIRE(reply);
  CHECK(ExecutorBench::outcomes(*reply) == "stale");
  CHECK(bench.root.read(kFile) == "by hand");
}

TEST_CASE("secret steps: a file that has become too large to read stops no other step") {
  SecretBench bench;
  REQUIRE(bench.apply({bench.step(Absent{}, bench.file(kOld))}, {kOld}));
  bench.root.write(kFile, std::string(kLargestTextFile + 1, 'x'));
  Step other = bench.step(Absent{}, bench.file(kNew), "/etc/second");
  const auto reply = bench.apply({bench.step(bench.file(kOld), bench.file(kNew)), other}, {kNew});
  REQUIRE(reply);
  CHECK(bench.root.read("/etc/second") == kNew);
  CHECK(bench.root.read(kFile).size() == kLargestTextFile + 1);
}

TEST_CASE("secret steps: a replaced value is kept for root alone, and a failed group restores it") {
  SecretBench bench;
  REQUIRE(bench.apply({bench.step(Absent{}, bench.file(kOld))}, {kOld}));
  Step replace = bench.step(bench.file(kOld), bench.file(kNew));
  Step fails = bench.step(Absent{}, bench.file("no-value-of-this"), "/etc/second");
  fails.group = replace.group;
  const auto reply = bench.apply({replace, fails}, {kNew});
  REQUIRE(reply);
  CHECK(ExecutorBench::outcomes(*reply) == "undone failed");
  CHECK(bench.root.read(kFile) == kOld);
  const auto kept = bench.files_with(kOld);
  REQUIRE(kept.size() == 2);
  CHECK(kept[1].starts_with(std::string(kSecretBackups)));
  CHECK(mode_of(bench, kept[1]) == std::filesystem::perms(0600));
  CHECK(mode_of(bench, std::string(kSecretBackups)) == std::filesystem::perms(0700));
  CHECK(bench.files_with(kNew).empty());
}

TEST_CASE("secret steps: a removal leaves nothing of the value but the backup for a rollback") {
  SecretBench bench;
  const std::string path = "/etc/sparkplan/secrets/nvidia/HF_TOKEN";
  REQUIRE(bench.apply({bench.step(Absent{}, bench.file(kOld), path)}, {kOld}));
  CHECK(bench.root.read(path) == kOld);
  const auto reply = bench.apply({bench.step(bench.file(kOld), Absent{}, path)}, {});
  REQUIRE(reply);
  CHECK(ExecutorBench::outcomes(*reply) == "done");
  CHECK_FALSE(bench.root.exists("/etc/sparkplan"));
  CHECK(bench.files_with(kOld).size() == 1);
}

TEST_CASE("secret steps: a backup is removed when no record mentions it any more") {
  SecretBench bench;
  REQUIRE(bench.apply({bench.step(Absent{}, bench.file(kOld))}, {kOld}));
  REQUIRE(bench.apply({bench.step(bench.file(kOld), bench.file(kNew))}, {kNew}));
  remove_unused_secret_backups(bench.node);
  CHECK(bench.files_with(kOld).size() == 1);  // The journal of the last run mentions it.
  bench.root.remove("/var/lib/sparkplan/journal");
  remove_unused_secret_backups(bench.node);
  CHECK(bench.files_with(kOld).empty());
  CHECK(bench.root.read(kFile) == kNew);
}

}  // namespace sparkplan::test
