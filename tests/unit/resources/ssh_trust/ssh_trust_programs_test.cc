// Checked with OpenSSH: keys with ssh-keygen, the client's configuration with ssh -G.
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "engine/process/child_process.h"
#include "resources/ssh_trust/public_key.h"
#include "resources/ssh_trust/trust_text.h"
#include "tests/support/catch.h"

namespace sparkplan::ssh_trust {
namespace {

namespace fs = std::filesystem;

class ScratchDirectory {
 public:
  ScratchDirectory() {
    std::array<char, 32> name{"/tmp/spark_trust_XXXXXX"};
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name.data();
  }
  ~ScratchDirectory() { fs::remove_all(path_); }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  fs::path operator/(const char* name) const { return path_ / name; }

 private:
  fs::path path_;
};

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return std::move(text).str();
}

std::string output_of(const std::vector<std::string>& argv) {
  const auto output = run_and_capture(argv);
  if (!output) FAIL(output.error().describe());
  INFO(output->standard_error);
  REQUIRE(output->exit_status == 0);
  return output->standard_output;
}

void make_key(const fs::path& path, const std::string& kind, const std::string& passphrase = "") {
  output_of({"ssh-keygen", "-q", "-t", kind, "-N", passphrase, "-C", "a comment", "-f", path.string()});
}

std::string login_name() { return getpwuid(getuid())->pw_name; }

/// The options ssh would use for HOST, restricted to the options in sparkplan's file.
std::string options_for(const fs::path& config, const std::string& host) {
  std::istringstream all(output_of({"ssh", "-G", "-F", config.string(), host}));
  std::string found;
  for (std::string line; std::getline(all, line);) {
    for (const char* option : {"hostname ", "port ", "identitiesonly ", "stricthostkeychecking ", "identityfile "}) {
      if (line.starts_with(option) && found.find(option) == std::string::npos) found += line + "\n";
    }
  }
  return found;
}

}  // namespace

TEST_CASE("ssh_trust: the public part of a private key matches ssh-keygen's file") {
  const ScratchDirectory scratch;
  make_key(scratch / "key", "ed25519");
  const auto part = public_part(text_of(scratch / "key"));
  REQUIRE(part);
  CHECK(*part == parse_public_key(text_of(scratch / "key.pub")));
  CHECK(comment_of(text_of(scratch / "key.pub")) == "a comment");
}

TEST_CASE("ssh_trust: keys with a passphrase and keys of other types are refused") {
  const ScratchDirectory scratch;
  make_key(scratch / "locked", "ed25519", "a passphrase");
  make_key(scratch / "ecdsa", "ecdsa");
  for (const char* name : {"locked", "ecdsa"}) {
    INFO(name);
    const auto part = public_part(text_of(scratch / name));
    REQUIRE_FALSE(part);
    CHECK(part.error().code == ErrorCode::kRefused);
  }
  CHECK(parse_public_key(text_of(scratch / "ecdsa.pub")));
}

TEST_CASE("ssh_trust: ssh reads the intended options from the managed file, under every name") {
  const ScratchDirectory scratch;
  const std::string me = login_name();
  std::ofstream(scratch / "config") << render_config({{"spark-02 10.0.0.12", {me, "somebody"}},
                                                      {"spark-02-fabric 192.168.100.12 port 2222", {me}},
                                                      {"fd00::12", {me}}});
  const std::string ours = "identitiesonly no\nstricthostkeychecking true\nidentityfile ~/.ssh/sparkplan_ed25519\n";
  const auto sorted = [](const std::string& text) {
    std::istringstream lines(text);
    std::set<std::string> set;
    for (std::string line; std::getline(lines, line);) set.insert(line);
    return set;
  };
  CHECK(sorted(options_for(scratch / "config", "spark-02")) == sorted("hostname 10.0.0.12\nport 22\n" + ours));
  CHECK(sorted(options_for(scratch / "config", "10.0.0.12")) == sorted("hostname 10.0.0.12\nport 22\n" + ours));
  CHECK(sorted(options_for(scratch / "config", "spark-02-fabric")) ==
        sorted("hostname 192.168.100.12\nport 2222\n" + ours));
  CHECK(sorted(options_for(scratch / "config", "fd00::12")) == sorted("hostname fd00::12\nport 22\n" + ours));
}

TEST_CASE("ssh_trust: a login as another user or with the user's own key works as before") {
  const ScratchDirectory scratch;
  std::ofstream(scratch / "none") << "";
  std::ofstream(scratch / "config") << render_config({{"spark-02 10.0.0.12", {login_name(), "somebody"}}});
  const auto keys_for = [&](const char* config, const std::string& destination) {
    std::istringstream all(output_of({"ssh", "-G", "-F", (scratch / config).string(), destination}));
    std::vector<std::string> keys;
    for (std::string line; std::getline(all, line);) {
      if (line.starts_with("identityfile ") || line.starts_with("identitiesonly ")) keys.push_back(line);
    }
    return keys;
  };
  CHECK(keys_for("config", "stranger@spark-02") == keys_for("none", "stranger@spark-02"));
  CHECK(keys_for("config", "somebody@10.0.0.12") == keys_for("none", "somebody@10.0.0.12"));
  CHECK(options_for(scratch / "config", "stranger@spark-02").find("hostname 10.0.0.12\n") != std::string::npos);
  const std::vector<std::string> own = keys_for("config", "spark-02");
  for (const std::string name : {"id_rsa", "id_ecdsa", "id_ed25519"}) {
    INFO(name);
    CHECK(std::find(own.begin(), own.end(), "identityfile ~/.ssh/" + name) != own.end());
  }
}

TEST_CASE("ssh_trust: the managed file changes nothing for other hosts or users") {
  const ScratchDirectory scratch;
  std::ofstream(scratch / "none") << "";
  std::ofstream(scratch / "config") << render_config(
      {{"spark-02 10.0.0.12", {login_name()}}, {"spark-03 10.0.0.13", {"somebody-else"}}});
  for (const char* host : {"spark-0", "spark-022", "x.spark-02", "10.0.0.1", "10.0.0.120", "spark-03", "10.0.0.13"}) {
    INFO(host);
    CHECK(options_for(scratch / "config", host) == options_for(scratch / "none", host));
  }
}

TEST_CASE("ssh_trust: ssh-keygen finds a host in the managed lines by each of its names") {
  const ScratchDirectory scratch;
  make_key(scratch / "host", "ed25519");
  const std::string key = *parse_public_key(text_of(scratch / "host.pub"));
  const std::string names = known_hosts_names({"spark-02", "10.0.0.12", "fd00::12"}, 2222);
  std::ofstream(scratch / "known") << known_hosts_line(names, key, mark_of("lab", "spark-02")) << "\n";
  for (const char* name : {"spark-02", "10.0.0.12", "fd00::12", "[spark-02]:2222", "[fd00::12]:2222"}) {
    INFO(name);
    const std::string found = output_of({"ssh-keygen", "-F", name, "-f", (scratch / "known").string()});
    CHECK(found.find(key) != std::string::npos);
  }
  CHECK(output_of({"ssh-keygen", "-lf", (scratch / "known").string()}).find("(ED25519)") != std::string::npos);
}

}  // namespace sparkplan::ssh_trust
