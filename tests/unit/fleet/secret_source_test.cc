// Where the values of secrets come from, and what happens if a source is of no use.
#include "engine/fleet/session/secret_source.h"

#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

#include "engine/fleet/session/cluster_secrets.h"
#include "engine/wire/apply_messages.h"
#include "tests/support/catch.h"
#include "tests/support/has.h"
#include "tests/unit/agent/scratch.h"

namespace sparkplan {
namespace {

constexpr std::string_view kCanary = "canary-7f3a";

Value command(std::initializer_list<Value> words) { return Value::map({{"command", Value::list(words)}}); }
Value script(const std::string& line) { return command({"sh", "-c", Value(line)}); }

struct SourceBench {
  test::ScratchDirectory directory;
  SecretPlace place{directory.path(), std::chrono::seconds(20), {}};

  std::string read(const Value& reference) const {
    const auto secret = read_secret(reference, place);
    if (!secret) return "error: " + secret.error().describe();
    return std::string(secret->value.text());
  }
  void write(const std::string& name, const std::string& content, mode_t mode = 0600) const {
    const auto path = directory.path() / name;
    std::ofstream(path, std::ios::binary) << content;
    REQUIRE(::chmod(path.c_str(), mode) == 0);
  }
};

using test::has;

Cluster cluster_with(const std::string& file, Value profile_env) {
  Cluster cluster;
  cluster.file = file;
  NodeSpec node{*NodeName::parse("n1"), 1, {}, {}, TransportKind::kSsh, {}, false, {}, {}, {}};
  node.sections.emplace("profile_env", std::move(profile_env));
  cluster.nodes.push_back(std::move(node));
  return cluster;
}

}  // namespace

TEST_CASE("secret source: the output of a command, without one newline at its end") {
  const SourceBench bench;
  CHECK(bench.read(script("echo value")) == "value");
  CHECK(bench.read(script("printf 'value\\n\\n'")) == "value\n");
  CHECK(bench.read(command({"printf", "%s", "no shell: $HOME `id` *"})) == "no shell: $HOME `id` *");
}

TEST_CASE("secret source: a command runs in the directory of cluster.yaml") {
  const SourceBench bench;
  bench.write("beside", "value\n");
  CHECK(bench.read(command({"cat", "beside"})) == "value");
}

TEST_CASE("secret source: a command that fails is an error with its standard error, and never with its output") {
  const SourceBench bench;
  const auto error = bench.read(script("echo canary-7f3a; printf 'no \\033[31mkey' >&2; exit 3"));
  CHECK(has(error, "status 3"));
  CHECK(has(error, "no "));
  CHECK_FALSE(has(error, kCanary));
  CHECK_FALSE(has(error, "\033"));
}

TEST_CASE("secret source: of many lines of standard error, the last three are shown in one line") {
  const SourceBench bench;
  const auto error = bench.read(script("for i in 1 2 3 4 5; do echo line $i >&2; done; echo >&2; exit 1"));
  CHECK(has(error, "status 1: line 3; line 4; line 5"));
  CHECK_FALSE(has(error, "line 2"));
}

TEST_CASE("secret source: each error has a hint") {
  const SourceBench bench;
  bench.write("empty", "\n");
  ::setenv("SPARKPLAN_TEST_SECRET", "", 1);
  const auto hint_of = [&](const Value& reference) {
    const auto secret = read_secret(reference, bench.place);
    return secret ? std::string() : secret.error().hint;
  };
  CHECK(has(hint_of(command({"true"})), "standard output"));
  CHECK(has(hint_of(command({"false"})), "run the command by hand"));
  CHECK(has(hint_of(script("head -c 100000 /dev/zero")), "a small file"));
  CHECK(has(hint_of(Value::map({{"file", "empty"}})), "write the value to the file"));
  CHECK(has(hint_of(Value::map({{"file", "missing"}})), "name a file that you can read"));
  CHECK(has(hint_of(Value::map({{"file", "."}})), "name a file that you can read"));
  CHECK(has(hint_of(Value::map({{"env", "SPARKPLAN_TEST_SECRET"}})), "give the variable a value"));
  ::unsetenv("SPARKPLAN_TEST_SECRET");
  CHECK(has(hint_of(Value::map({{"env", "SPARKPLAN_TEST_SECRET"}})), "export SPARKPLAN_TEST_SECRET"));
}

TEST_CASE("secret source: endless standard error of a command is cut") {
  const SourceBench bench;
  const auto error = bench.read(script("head -c 10000000 /dev/zero | tr '\\0' x >&2; exit 1"));
  CHECK(has(error, "xxx"));
  CHECK(error.size() < 1000);
}

TEST_CASE("secret source: a command that is not there is an error that names it") {
  const SourceBench bench;
  CHECK(has(bench.read(command({"no-such-program-7f3a"})), "no-such-program-7f3a"));
}

TEST_CASE("secret source: a command that hangs is killed at the deadline") {
  SourceBench bench;
  bench.place.deadline = std::chrono::milliseconds(300);
  CHECK(has(bench.read(script("echo canary-7f3a; exec sleep 1000")), "did not end within"));
  // It closes its output and goes on.
  CHECK(has(bench.read(script("exec >&- 2>&-; exec sleep 1000")), "did not end within"));
}

TEST_CASE("secret source: a stop ends the wait for a command") {
  SourceBench bench;
  std::stop_source stop;
  stop.request_stop();
  bench.place.stop = stop.get_token();
  CHECK(has(bench.read(script("exec sleep 1000")), "stopped"));
}

TEST_CASE("secret source: a command that prints nothing, or only a newline, is an error") {
  const SourceBench bench;
  CHECK(has(bench.read(command({"true"})), "empty"));
  CHECK(has(bench.read(command({"echo"})), "empty"));
}

TEST_CASE("secret source: a command that prints 10 MB is stopped, and the error contains nothing of it") {
  const SourceBench bench;
  const auto error = bench.read(script("yes canary-7f3a | head -c 10000000"));
  CHECK(has(error, "longer than 64 KiB"));
  CHECK_FALSE(has(error, kCanary));
}

TEST_CASE("secret source: the largest secret is read, and one byte more is refused") {
  const SourceBench bench;
  const std::string largest(kMostSecretBytes, 'x');
  bench.write("largest", largest + "\n");
  bench.write("larger", largest + "y\n");
  CHECK(bench.read(Value::map({{"file", "largest"}})) == largest);
  CHECK(has(bench.read(Value::map({{"file", "larger"}})), "longer than 64 KiB"));
  CHECK(bench.read(command({"cat", "largest"})) == largest);
  CHECK(has(bench.read(command({"cat", "larger"})), "longer than 64 KiB"));
}

TEST_CASE("secret source: a file beside cluster.yaml, with every byte but one newline at its end") {
  const SourceBench bench;
  bench.write("hf.token", std::string("a\0\xff\n", 4));
  CHECK(bench.read(Value::map({{"file", "hf.token"}})) == std::string("a\0\xff", 3));
  bench.write("empty", "\n");
  CHECK(has(bench.read(Value::map({{"file", "empty"}})), "empty"));
  CHECK(has(bench.read(Value::map({{"file", "missing"}})), "missing"));
  CHECK(has(bench.read(Value::map({{"file", "."}})), "not a regular file"));
}

TEST_CASE("secret source: a file that every user can read is a warning") {
  const SourceBench bench;
  bench.write("open", "value", 0644);
  bench.write("closed", "value", 0640);
  const auto open = read_secret(Value::map({{"file", "open"}}), bench.place);
  const auto closed = read_secret(Value::map({{"file", "closed"}}), bench.place);
  REQUIRE(open);
  REQUIRE(closed);
  CHECK(has(open->warning, "every user"));
  CHECK(closed->warning.empty());
}

TEST_CASE("secret source: an environment variable, as it is") {
  const SourceBench bench;
  ::setenv("SPARKPLAN_TEST_SECRET", "value\n", 1);
  CHECK(bench.read(Value::map({{"env", "SPARKPLAN_TEST_SECRET"}})) == "value\n");
  ::setenv("SPARKPLAN_TEST_SECRET", "", 1);
  CHECK(has(bench.read(Value::map({{"env", "SPARKPLAN_TEST_SECRET"}})), "empty"));
  ::unsetenv("SPARKPLAN_TEST_SECRET");
  CHECK(has(bench.read(Value::map({{"env", "SPARKPLAN_TEST_SECRET"}})), "SPARKPLAN_TEST_SECRET"));
}

TEST_CASE("secret source: a command inherits the environment, with the value of a secret from a variable") {
  const SourceBench bench;
  ::setenv("SPARKPLAN_TEST_SECRET", "value", 1);
  CHECK(bench.read(script("echo $SPARKPLAN_TEST_SECRET")) == "value");
  ::unsetenv("SPARKPLAN_TEST_SECRET");
}

TEST_CASE("cluster secrets: each source is read once, however many nodes and files need it") {
  const SourceBench bench;
  const Value reference = script("echo x >> runs; echo value");
  const Value entry = Value::map({{"secret", reference}});
  Cluster cluster = cluster_with((bench.directory.path() / "cluster.yaml").string(),
                                 Value::map({{"A", entry}, {"B", entry}, {"C", "clear"}}));
  cluster.nodes.push_back(cluster.nodes.front());
  const auto needed = needed_secrets(cluster, {});
  REQUIRE(needed.size() == 1);
  CHECK(secret_commands(needed).size() == 1);
  ClusterSecrets secrets;
  CHECK(secrets.read(needed, cluster, {}).empty());
  CHECK(bench.directory.exists("/runs"));
  CHECK(bench.directory.read("/runs") == "x\n");
  CHECK(secrets.token(reference, "key") == secret_token("key", "value"));
  CHECK(secrets.token(Value::map({{"env", "OTHER"}}), "key") == kUnreadSecret);
}

TEST_CASE("cluster secrets: the question whether to run a command shows all of it") {
  const Value harmless_at_first = script("true" + std::string(5000, ' ') + "; rm key");
  const auto commands = secret_commands({{harmless_at_first, {}, false}});
  REQUIRE(commands.size() == 1);
  CHECK(commands.front().find("; rm key") != std::string::npos);
  CHECK(commands.front().size() > 5000);
}

TEST_CASE("cluster secrets: a node that is skipped or not selected needs none") {
  Cluster cluster = cluster_with("cluster.yaml", Value::map({{"A", Value::map({{"secret", script("echo x")}})}}));
  CHECK(needed_secrets(cluster, {}).size() == 1);
  CHECK(needed_secrets(cluster, Selection({"other"}, {})).empty());
  cluster.nodes.front().maintenance = true;
  CHECK(needed_secrets(cluster, {}).empty());
}

TEST_CASE("cluster secrets: a variable cannot contain a newline, and the error does not contain the value") {
  const Value entry = Value::map({{"secret", script("printf 'canary-7f3a\\nsecond'")}});
  const Cluster cluster = cluster_with("cluster.yaml", Value::map({{"A", entry}}));
  ClusterSecrets secrets;
  const auto findings = secrets.read(needed_secrets(cluster, {}), cluster, {});
  REQUIRE(findings.size() == 1);
  CHECK(findings.front().severity == Severity::kError);
  CHECK(has(findings.front().message, "newline"));
  // The command itself is in cluster.yaml; what it printed is not in the finding.
  CHECK_FALSE(has(findings.front().message, "second\n"));
}

TEST_CASE("cluster secrets: a node receives only the values that its steps write") {
  const SourceBench bench;
  const Value mine = script("echo mine");
  const Value others = script("echo others");
  Cluster cluster = cluster_with((bench.directory.path() / "cluster.yaml").string(),
                                 Value::map({{"A", Value::map({{"secret", mine}})}}));
  cluster.nodes.push_back(cluster.nodes.front());
  cluster.nodes.back().sections["profile_env"] = Value::map({{"B", Value::map({{"secret", others}})}});
  ClusterSecrets secrets;
  REQUIRE(secrets.read(needed_secrets(cluster, {}), cluster, {}).empty());
  const auto step_with = [](const std::string& content) {
    Step step;
    step.after = Present{Value::map({{"content", content}}), {}};
    return step;
  };
  const std::vector<Step> steps{step_with(secret_token("key", "mine")), step_with(secret_token("key", "others")),
                                step_with("clear")};
  const auto values = secrets.values_for(steps, cluster.nodes.front(), "key");
  REQUIRE(values.size() == 1);
  CHECK(values.front().value == "mine");
  CHECK(values.front().token == secret_token("key", "mine"));
  CHECK(secrets.values_for({step_with("clear")}, cluster.nodes.front(), "key").empty());
}

TEST_CASE("cluster secrets: a command that reads none compares with what was applied last") {
  Value desired = Value::map({{"content", kUnreadSecret}, {"mode", "0400"}});
  put_last_applied_secrets(desired, nullptr);
  CHECK(desired.text_or("content", "") == kUnreadSecret);
  const Value text = Value::map({{"content", "a text that was applied in clear"}});
  put_last_applied_secrets(desired, &text);
  CHECK(desired.text_or("content", "") == kUnreadSecret);
  const Value last = Value::map({{"content", secret_token("key", "value")}, {"mode", "0440"}});
  put_last_applied_secrets(desired, &last);
  CHECK(desired == Value::map({{"content", secret_token("key", "value")}, {"mode", "0400"}}));
}

}  // namespace sparkplan
