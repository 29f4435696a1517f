// Secrets in profile_env and in the content of files: what reaches plans, and what a login shell reads.
#include "engine/resource/secret_artifact.h"
#include "resources/profile_env/profile_env.h"

#include "engine/core/text.h"
#include "engine/resource/artifact.h"
#include "engine/resource/registry.h"
#include "tests/support/catch.h"
#include "tests/support/fake_node.h"
#include "tests/support/shell.h"

namespace sparkplan {
namespace {

constexpr const char* kForged = "sparkplan-secret:7f3a7f3a7f3a7f3a7f3a7f3a7f3a7f3a7f3a7f3a7f3a7f3a7f3a7f3a7f3a7f3a";
constexpr const char* kPath = "/etc/sparkplan/secrets/nvidia/HF_TOKEN";

const ResourceType& type_named(std::string_view name) { return *builtin_registry().find(name); }

/// Every reference leads to one value.
class OneValue : public SecretValues {
 public:
  explicit OneValue(std::string value) : value_(std::move(value)) {}
  std::string token(const Value& /*reference*/, std::string_view key) const override {
    return secret_token(key, value_);
  }

 private:
  std::string value_;
};

const Value kReference = Value::map({{"command", Value::list({"sops", "-d", "it's"})}});

/// A node with the user nvidia, the cluster that has only it, and its exports.
struct World {
  test::FakeNode node;
  Cluster cluster;
  std::map<std::string, NodeExports> exports;
  OneValue value{"canary-7f3a"};

  explicit World(const std::string& section, Value body) {
    node.add_file("/etc/ssh/ssh_host_ed25519_key", "a private key", 0600);
    node.add_file("/etc/passwd", "root:x:0:0::/root:/bin/sh\nnvidia:x:1000:1000::/home/nvidia:/bin/sh\n");
    node.add_directory("/etc");
    NodeSpec spec{*NodeName::parse("n1"), 1, {}, {}, TransportKind::kSsh, {}, false, {}, {}, {}};
    spec.sections.emplace(section, std::move(body));
    cluster.nodes.push_back(std::move(spec));
  }

  Desired desired(const ResourceType& type, bool reads = true) {
    const Value& section = cluster.nodes.front().sections.at(type.info().section);
    const auto exported = type.exports(section, node);
    exports.clear();
    if (exported && !exported->is_null()) exports["n1"][type.info().name] = *exported;
    return type.desired(ClusterView{cluster, cluster.nodes.front(), exports, false, reads ? &value : nullptr}, section,
                        {});
  }

  /// With a change of each resource.
  static std::vector<Step> steps(const ResourceType& type, const Desired& desired, const ObservedType& observed) {
    std::vector<Change> changes;
    for (const Resource& resource : desired.resources) changes.emplace_back().id = resource.id;
    StepsInput input{{}, observed, {changes.begin(), changes.end()}, {}};
    for (const Resource& resource : desired.resources) input.target.emplace_back(resource);
    return type.steps(input);
  }
};

Value variable() {
  return Value::map({{"HF_TOKEN", Value::map({{"secret", kReference}, {"users", Value::list({"nvidia"})}})}});
}

Value file(const std::string& mode) {
  Value record = Value::map({{"path", "/etc/app.token"}, {"content", Value::map({{"secret", kReference}})}});
  if (!mode.empty()) record.set("mode", mode);
  return Value::list({std::move(record)});
}

std::vector<std::string> codes(const std::string& type, const Value& section) {
  std::vector<std::string> found;
  for (const Diagnostic& one : type_named(type).validate(section)) found.push_back(one.code);
  return found;
}

using Codes = std::vector<std::string>;

}  // namespace

TEST_CASE("secret: the text of a reference has its command as a shell would need it") {
  CHECK(secret_text(kReference) == "sops -d 'it'\\''s'");
  CHECK(secret_text(Value::map({{"env", "HF_TOKEN"}})) == "environment variable HF_TOKEN");
  CHECK(secret_text(Value::map({{"file", "hf.token"}})) == "file hf.token");
  CHECK(secret_text(Value::map({{"file", "a\033[31m"}})).find('\033') == std::string::npos);
}

TEST_CASE("secret: a long name of a file shows its beginning and its end") {
  std::string path;
  for (int i = 0; i < 500; ++i) path += "./";
  for (const std::string filler : {"", "é", "aé"}) {
    const std::string text = secret_text(Value::map({{"file", filler + path + filler + "/etc/shadow"}}));
    INFO(text);
    CHECK(text.size() < 250);
    CHECK(text.starts_with("file " + filler + "./"));
    CHECK(text.ends_with("./" + filler + "/etc/shadow"));
    CHECK(printable(text) == text);
  }
}

TEST_CASE("secret: a reference has exactly one source") {
  CHECK_FALSE(check_secret(kReference, "x"));
  CHECK(check_secret(Value::map(), "x"));
  CHECK(check_secret(Value::map({{"env", "A"}, {"file", "b"}}), "x"));
  CHECK(check_secret(Value::map({{"command", Value::list()}}), "x"));
  CHECK(check_secret(Value::map({{"command", Value::list({""})}}), "x"));
}

TEST_CASE("secret: the node's key comes from its host key until an apply stores it") {
  test::FakeNode node;
  CHECK(secret_key(node).error().code == ErrorCode::kUnsupported);
  node.add_file("/etc/ssh/ssh_host_rsa_key", "rsa");
  const auto from_rsa = secret_key(node);
  REQUIRE(from_rsa);
  node.add_file("/etc/ssh/ssh_host_ed25519_key", "ed25519");
  const auto from_ed25519 = secret_key(node);
  REQUIRE(from_ed25519);
  CHECK(*from_rsa != *from_ed25519);
  CHECK(from_rsa->size() == kSecretKeyDigits);
  node.add_file(std::string(kSecretKeyFile), *from_rsa + "\n", 0600);
  CHECK(*secret_key(node) == *from_rsa);
  node.add_file(std::string(kSecretKeyFile), "damaged", 0600);
  CHECK(secret_key(node).error().code == ErrorCode::kInvalidInput);
}

TEST_CASE("secret: a variable's desired value, observation and steps contain digests and never the value") {
  World world("profile_env", variable());
  const ResourceType& type = type_named("profile_env");
  const Desired desired = world.desired(type);
  REQUIRE(desired.diagnostics.empty());
  REQUIRE(desired.resources.size() == 1);
  CHECK(desired.resources.front().secret_source == "sops -d 'it'\\''s'");
  const std::string token = secret_token(*secret_key(world.node), "canary-7f3a");
  const auto observed = type.observe({{"HF_TOKEN"}, {"HF_TOKEN"}}, world.node);
  CHECK(std::holds_alternative<Absent>(observed.resources.at("HF_TOKEN")));
  const auto steps = World::steps(type, desired, observed);
  REQUIRE(steps.size() == 2);
  CHECK(steps[0].artifact == file_artifact(kPath));
  CHECK(content_of(steps[0].after) == token);
  CHECK(present_value(steps[0].after).text_or("mode", "") == "0400");
  CHECK(present_value(steps[0].after).integer_or("uid", 0) == 1000);
  const auto script = content_of(steps[1].after).value_or("");
  CHECK(script.find("canary") == std::string::npos);
  CHECK(script.find("sparkplan-secret") == std::string::npos);
  CHECK(script.find(kPath) != std::string::npos);

  // As the agent writes it.
  world.node.add_file("/etc/profile.d/sparkplan-env.sh", script);
  world.node.add_directory("/etc/sparkplan/secrets");
  world.node.add_directory("/etc/sparkplan/secrets/nvidia");
  world.node.add_file(kPath, "canary-7f3a", 0400, 1000);
  const auto after = type.observe({{"HF_TOKEN"}, {"HF_TOKEN"}}, world.node);
  const auto& present = std::get<Present>(after.resources.at("HF_TOKEN"));
  CHECK(display(present.value).find("canary") == std::string::npos);
  CHECK(type.diff(desired.resources.front(), present).empty());
  CHECK(World::steps(type, desired, after).empty());

  world.node.add_file(kPath, "another", 0400, 1000);
  const auto changed = type.observe({{"HF_TOKEN"}, {"HF_TOKEN"}}, world.node);
  const auto fields = type.diff(desired.resources.front(), std::get<Present>(changed.resources.at("HF_TOKEN")));
  REQUIRE(fields.size() == 1);
  CHECK(fields.front().path == "secret.nvidia.value");
  CHECK(fields.front().after == Value(token));
}

TEST_CASE("secret: a variable's file that another user could read is written again") {
  World world("profile_env", variable());
  const ResourceType& type = type_named("profile_env");
  const Desired desired = world.desired(type);
  world.node.add_directory("/etc/sparkplan/secrets");
  world.node.add_directory("/etc/sparkplan/secrets/nvidia");
  world.node.add_file(kPath, "canary-7f3a", 0444, 1000);
  const auto steps = World::steps(type, desired, type.observe({{"HF_TOKEN"}, {"HF_TOKEN"}}, world.node));
  REQUIRE_FALSE(steps.empty());
  CHECK(steps[0].artifact == file_artifact(kPath));
  CHECK(present_value(steps[0].before).text_or("mode", "") == "0444");
  CHECK(present_value(steps[0].after).text_or("mode", "") == "0400");
}

TEST_CASE("secret: a value that stood in the script in clear is not shown once it is a secret") {
  World world("profile_env", variable());
  const ResourceType& type = type_named("profile_env");
  const Desired desired = world.desired(type);
  world.node.add_file("/etc/profile.d/sparkplan-env.sh", "export HF_TOKEN='canary-7f3a'\n");
  const auto observed = type.observe({{"HF_TOKEN"}, {"HF_TOKEN"}}, world.node);
  const auto fields = type.diff(desired.resources.front(), std::get<Present>(observed.resources.at("HF_TOKEN")));
  REQUIRE(fields.size() == 1);
  CHECK(fields.front().path == "secret.nvidia.value");
  CHECK(fields.front().before.is_null());
}

TEST_CASE("secret: a variable whose file is gone keeps its line, and only the file is written again") {
  World world("profile_env", variable());
  const ResourceType& type = type_named("profile_env");
  const Desired desired = world.desired(type);
  const auto script = content_of(World::steps(type, desired, {})[1].after).value_or("");
  world.node.add_file("/etc/profile.d/sparkplan-env.sh", script);
  const auto observed = type.observe({{"HF_TOKEN"}, {"HF_TOKEN"}}, world.node);
  const auto& present = std::get<Present>(observed.resources.at("HF_TOKEN"));
  CHECK(type.diff(desired.resources.front(), present).size() == 1);
  const auto steps = World::steps(type, desired, observed);
  REQUIRE(steps.size() == 1);
  CHECK(steps[0].artifact == file_artifact(kPath));
  // Left out of a run, it stays as it is.
  Desired as_it_is = desired;
  as_it_is.resources.front().desired = present.value;
  CHECK(World::steps(type, as_it_is, observed).empty());
}

TEST_CASE("secret: a user who is no longer named loses the file and the line") {
  Value two = variable();
  two.find("HF_TOKEN")->set("users", Value::list({"nvidia", "root"}));
  World both("profile_env", two);
  const ResourceType& type = type_named("profile_env");
  const Desired for_both = both.desired(type);
  const auto first = World::steps(type, for_both, {});
  REQUIRE(first.size() == 3);
  World world("profile_env", variable());
  const Desired desired = world.desired(type);
  world.node.add_file("/etc/profile.d/sparkplan-env.sh", content_of(first[2].after).value_or(""));
  world.node.add_directory("/etc/sparkplan/secrets");
  for (const std::string user : {"nvidia", "root"}) {
    world.node.add_directory("/etc/sparkplan/secrets/" + user);
    world.node.add_file("/etc/sparkplan/secrets/" + user + "/HF_TOKEN", "canary-7f3a", 0400, user == "root" ? 0 : 1000);
  }
  const auto observed = type.observe({{"HF_TOKEN"}, {"HF_TOKEN"}}, world.node);
  const auto fields = type.diff(desired.resources.front(), std::get<Present>(observed.resources.at("HF_TOKEN")));
  REQUIRE(fields.size() == 1);
  CHECK(fields.front().path == "secret.root.value");
  CHECK(fields.front().after.is_null());
  const Change change{{"profile_env", "HF_TOKEN"}, Action::kUpdate, Origin::kConfig, fields, {}, {}, {}, {}};
  StepsInput input{{}, observed, {change}, {}};
  input.target.emplace_back(desired.resources.front());
  input.originals.emplace(file_artifact("/etc/sparkplan/secrets/root/HF_TOKEN"), Absent{});
  const auto steps = type.steps(input);
  REQUIRE(steps.size() == 2);
  CHECK(steps[0].artifact == file_artifact("/etc/sparkplan/secrets/root/HF_TOKEN"));
  CHECK(std::holds_alternative<Absent>(steps[0].after));
  CHECK(content_of(steps[1].after).value_or("").find("root") == std::string::npos);
}

TEST_CASE("secret: a file that its user keeps from being read leaves the files of the others to be removed") {
  Value three = variable();
  three.find("HF_TOKEN")->set("users", Value::list({"nvidia", "root", "bob"}));
  const ResourceType& type = type_named("profile_env");
  const auto add_bob = [](World& world) {
    world.node.add_file("/etc/passwd",
                        "root:x:0:0::/root:/bin/sh\nnvidia:x:1000:1000::/home/nvidia:/bin/sh\n"
                        "bob:x:1001:1001::/home/bob:/bin/sh\n");
  };
  World all("profile_env", three);
  add_bob(all);
  const auto first = World::steps(type, all.desired(type), {});
  REQUIRE(first.size() == 4);
  Value two = variable();
  two.find("HF_TOKEN")->set("users", Value::list({"nvidia", "root"}));
  World world("profile_env", two);
  add_bob(world);
  const Desired desired = world.desired(type);
  world.node.add_file("/etc/profile.d/sparkplan-env.sh", content_of(first[3].after).value_or(""));
  world.node.add_file("/etc/sparkplan/secrets/root/HF_TOKEN", "canary-7f3a", 0400, 0);
  world.node.add_file("/etc/sparkplan/secrets/bob/HF_TOKEN", "canary-7f3a", 0400, 1001);
  world.node.add_kernel_file(kPath, {"", {}, {}, ErrorCode::kBusy});

  const auto observed = type.observe({{"HF_TOKEN"}, {"HF_TOKEN"}}, world.node);
  REQUIRE(std::holds_alternative<Present>(observed.resources.at("HF_TOKEN")));
  CHECK_FALSE(observed.artifacts.contains(file_artifact(kPath)));
  REQUIRE(observed.foreign.size() == 1);
  CHECK(observed.foreign[0].field == "secret");
  CHECK(observed.foreign[0].source == kPath);
  CHECK_FALSE(observed.foreign[0].harmless);
  const auto fields = type.diff(desired.resources.front(), std::get<Present>(observed.resources.at("HF_TOKEN")));
  REQUIRE(fields.size() == 1);
  CHECK(fields.front().path == "secret.bob.value");
  StepsInput input{{}, observed, {}, {}};
  const Change change{{"profile_env", "HF_TOKEN"}, Action::kUpdate, Origin::kConfig, fields, {}, {}, {}, {}};
  input.changes.emplace_back(change);
  input.target.emplace_back(desired.resources.front());
  input.originals.emplace(file_artifact("/etc/sparkplan/secrets/bob/HF_TOKEN"), Absent{});
  const auto steps = type.steps(input);
  REQUIRE(steps.size() == 2);
  CHECK(steps[0].artifact == file_artifact("/etc/sparkplan/secrets/bob/HF_TOKEN"));
  CHECK(std::holds_alternative<Absent>(steps[0].after));
  const auto script = content_of(steps[1].after).value_or("");
  CHECK(script.find("/bob/") == std::string::npos);
  CHECK(script.find("/nvidia/") != std::string::npos);
  CHECK(steps[0].group != steps[1].group);

  World without("profile_env", variable());
  without.cluster.nodes.front().sections.at("profile_env").find("HF_TOKEN")->set("users", Value::list({"root"}));
  const auto of_nvidia =
      type.diff(without.desired(type).resources.front(), std::get<Present>(observed.resources.at("HF_TOKEN")));
  CHECK(of_nvidia.size() == 2);
}

TEST_CASE("secret: a command that reads no secrets marks the value as not read") {
  World world("profile_env", variable());
  const Desired desired = world.desired(type_named("profile_env"), false);
  REQUIRE(desired.resources.size() == 1);
  const Value* files = desired.resources.front().desired.find("secret");
  REQUIRE(files != nullptr);
  CHECK(files->find("nvidia")->text_or("value", "") == kUnreadSecret);
}

TEST_CASE("secret: a node without a key or without the user is an error that names it") {
  World world("profile_env", variable());
  world.node.erase("/etc/ssh/ssh_host_ed25519_key");
  const Desired without_key = world.desired(type_named("profile_env"));
  REQUIRE(without_key.diagnostics.size() == 1);
  CHECK(without_key.diagnostics.front().code == "secret.no-key");
  CHECK(without_key.incomplete);

  World other("profile_env", variable());
  other.node.add_file("/etc/passwd", "root:x:0:0::/root:/bin/sh\n");
  other.node.set_live(false);
  const Desired without_user = other.desired(type_named("profile_env"));
  REQUIRE(without_user.diagnostics.size() == 1);
  CHECK(without_user.diagnostics.front().code == "profile_env.no-user");
  CHECK(without_user.incomplete);
}

TEST_CASE("secret: only the line that sparkplan writes is taken for it") {
  const std::string line = profile_env::secret_line("nvidia", "HF_TOKEN");
  CHECK(profile_env::parse_secret_line(line) == std::pair<std::string, std::string>("nvidia", "HF_TOKEN"));
  CHECK_FALSE(profile_env::parse_secret_line(line + " "));
  CHECK_FALSE(profile_env::parse_secret_line("# " + line));
  CHECK_FALSE(profile_env::parse_secret_line("[ -r '/etc/sparkplan/secrets/nvidia/HF_TOKEN' ]"));
  CHECK_FALSE(profile_env::parse_secret_line("-r '/etc/sparkplan/secrets/"));
}

TEST_CASE("secret: a login shell of another user sets nothing and prints nothing") {
  const std::string line = profile_env::secret_line("no-such-user-7f3a", "HF_TOKEN") + "\n";
  CHECK(test::seen_by_shell("/bin/sh", line + "AFTER=y\nexport AFTER\n", "AFTER") == "y");
  CHECK(test::seen_by_shell("/bin/sh", "HF_TOKEN=unset\nexport HF_TOKEN\n" + line, "HF_TOKEN") == "unset");
}

TEST_CASE("secret: a variable's users are named, and its value is a text, a number or a secret") {
  CHECK(codes("profile_env", variable()) == Codes{});
  CHECK(codes("profile_env", Value::map({{"A", Value::map({{"secret", kReference}})}})) ==
        Codes{"profile_env.no-users"});
  CHECK(codes("profile_env",
              Value::map({{"A", Value::map({{"secret", Value::map()}, {"users", Value::list({"a"})}})}})) ==
        Codes{"profile_env.secret"});
}

TEST_CASE("secret: a name that looks like a secret is warned of if its value is in clear") {
  for (const char* name : {"HF_TOKEN", "DB_PASSWORD", "AWS_SECRET_ACCESS_KEY", "OPENAI_API_KEY", "API_TOKENS"}) {
    INFO(name);
    CHECK(codes("profile_env", Value::map({{name, "x"}})) == Codes{"profile_env.clear-secret"});
  }
  for (const char* name : {"TOKENIZERS_PARALLELISM", "HF_HOME", "KEYBOARD"}) {
    INFO(name);
    CHECK(codes("profile_env", Value::map({{name, "x"}})) == Codes{});
  }
}

TEST_CASE("secret: a file with a secret is read as a digest, and is for its owner alone by default") {
  World world("files", file(""));
  const ResourceType& type = type_named("file");
  const Desired desired = world.desired(type);
  REQUIRE(desired.diagnostics.empty());
  REQUIRE(desired.resources.size() == 1);
  CHECK(desired.resources.front().desired.text_or("mode", "") == "0400");
  const std::string token = secret_token(*secret_key(world.node), "canary-7f3a");
  CHECK(desired.resources.front().desired.text_or("content", "") == token);
  world.node.add_file("/etc/app.token", "canary-7f3a", 0400);
  const auto observed = type.observe({{"/etc/app.token"}, {"/etc/app.token"}}, world.node);
  CHECK(type.diff(desired.resources.front(), std::get<Present>(observed.resources.at("/etc/app.token"))).empty());
  CHECK(content_of(observed.artifacts.at(file_artifact("/etc/app.token"))) == token);
}

TEST_CASE("secret: content that looks like a digest is not taken for one") {
  World world("files", Value::list());
  world.node.add_file("/etc/app.token", kForged, 0644);
  const auto observed = type_named("file").observe({{"/etc/app.token"}, {}}, world.node);
  const auto content = content_of(observed.artifacts.at(file_artifact("/etc/app.token")));
  CHECK(content == secret_token(*secret_key(world.node), kForged));
}

TEST_CASE("secret: a file with a secret that others could read is refused") {
  CHECK(codes("file", file("")) == Codes{});
  CHECK(codes("file", file("0440")) == Codes{});
  CHECK(codes("file", file("0644")) == Codes{"file.secret-mode"});
  CHECK(codes("file", file("0401")) == Codes{"file.secret-mode"});
}

}  // namespace sparkplan
