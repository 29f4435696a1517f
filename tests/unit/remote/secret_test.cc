// Where a password is stored, and who receives it.
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <sstream>

#include "tests/support/catch.h"
#include "tests/support/sanitizer.h"
#include "tests/unit/remote/fakes.h"

namespace sparkplan {
namespace {

using test::agent;
using test::behind_sudo;
using test::installer;
using test::no_agent;
using test::node;
using test::own_hello;
using test::Peer;
using test::Remote;

AgentOptions with_sudo_password(const Remote& remote, InstallPolicy install = InstallPolicy::kIfNeeded) {
  auto options = remote.options(install);
  options.become_password = test::secret("secret");
  return options;
}

/// The entry in /proc/self/smaps for the mapping that contains `address`.
std::string mapping_of(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  std::string entry;
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    char dash = 0;
    std::istringstream range(line);
    if (range >> std::hex >> begin >> dash >> end && dash == '-') {
      const auto wanted = reinterpret_cast<std::uintptr_t>(address);
      inside = begin <= wanted && wanted < end;
    }
    if (inside) entry += line + "\n";
  }
  return entry;
}

rlim_t core_limit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_CORE, &limit);
  return limit.rlim_cur;
}

}  // namespace

TEST_CASE("a password is kept in locked memory, outside core dumps and child processes") {
  const auto kept = test::secret("secret");
  CHECK(kept.text() == "secret");
  CHECK(kept.line() == "secret\n");
  const auto mapping = mapping_of(kept.text().data());
  INFO(mapping);
  // A sanitizer locks nothing.
  if (!test::kHasSanitizer) CHECK(mapping.find("Locked:                4 kB") != std::string::npos);
  CHECK(mapping.find(" dd ") != std::string::npos);  // MADV_DONTDUMP
  const auto child = ::fork();
  if (child == 0) ::_exit(kept.text().data()[0] == '\0' ? 0 : 1);
  int status = -1;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
}

TEST_CASE("copies of a password share one memory, which the last copy erases") {
  auto first = test::secret("secret");
  const char* const where = first.text().data();
  auto second = first;
  CHECK(second.text().data() == where);
  first = Secret();
  CHECK(first.empty());
  CHECK(second.text() == "secret");
  CHECK_FALSE(mapping_of(where).empty());
  second = Secret();
  CHECK(mapping_of(where).find(" lo ") == std::string::npos);
}

TEST_CASE("while a password is held, core dumps are disabled") {
  rlimit before{};
  ::getrlimit(RLIMIT_CORE, &before);
  const rlimit some{before.rlim_max, before.rlim_max};
  ::setrlimit(RLIMIT_CORE, &some);
  const auto dumpable = ::prctl(PR_GET_DUMPABLE);
  {
    const auto one = test::secret("a");
    const auto other = test::secret("b");
    CHECK(core_limit() == 0);
    CHECK(::prctl(PR_GET_DUMPABLE) == 0);
  }
  CHECK(core_limit() == before.rlim_max);
  CHECK(::prctl(PR_GET_DUMPABLE) == dumpable);
  ::setrlimit(RLIMIT_CORE, &before);
}

TEST_CASE("a password is read to the end of its line, and a line without an end is refused") {
  int ends[2] = {};
  REQUIRE(::pipe(ends) == 0);
  REQUIRE(::write(ends[1], "first\nsecond\r", 13) == 13);
  CHECK(Secret::read_line(ends[0])->text() == "first");
  CHECK(Secret::read_line(ends[0])->text() == "second");
  const std::string endless(2000, 'x');
  REQUIRE(::write(ends[1], endless.data(), endless.size()) == 2000);
  CHECK_FALSE(Secret::read_line(ends[0]));
  ::close(ends[1]);
  ::close(ends[0]);
  CHECK(Secret::copy_of(std::string(1023, 'x')));
  CHECK_FALSE(Secret::copy_of(std::string(1024, 'x')));
}

TEST_CASE("a password is sent when sudo asks, and no other data before the hello") {
  Remote remote;
  remote.add(behind_sudo(agent()));
  const auto client = AgentClient::open(node("anna"), with_sudo_password(remote), {});
  REQUIRE(client);
  CHECK(remote.peer(0).elevation == Elevation::kSudoPassword);
  CHECK(client->facts().facts.hostname == "spark-01");
}

TEST_CASE("a sudo that does not ask does not receive the password") {
  Remote remote;
  remote.add(agent());
  REQUIRE(AgentClient::open(node("anna"), with_sudo_password(remote), {}));
  CHECK(remote.peer(0).written.find("secret") == std::string::npos);
}

TEST_CASE("root, a node without become and a local node never receive the password, whatever they print") {
  auto plain = node("anna");
  plain.ssh.become = Become::kNone;
  auto local = node("anna");
  local.transport = TransportKind::kLocal;
  for (const auto& spec : {node("root"), plain, local}) {
    Remote remote;
    auto& peer = remote.add(agent());
    peer.standard_error = std::string(kSudoPrompt);
    peer.output.insert(0, std::string(kSudoPrompt));
    REQUIRE(AgentClient::open(spec, with_sudo_password(remote), {}));
    CHECK(remote.peer(0).elevation == Elevation::kNone);
    CHECK(remote.peer(0).written.find("secret") == std::string::npos);
  }
}

TEST_CASE("a prompt on standard output is not treated as sudo's prompt") {
  Remote remote;
  auto& peer = remote.add({});
  peer.output = std::string(kSudoPrompt);
  auto options = with_sudo_password(remote);
  options.reply_timeout = std::chrono::milliseconds(100);
  CHECK_FALSE(AgentClient::open(node("anna"), options, {}));
  CHECK(peer.written.empty());
}

TEST_CASE("a sudo that asks a second time has rejected the password, and does not receive it again") {
  Remote remote;
  remote.add(behind_sudo(agent(), "another"));
  const auto client = AgentClient::open(node("anna"), with_sudo_password(remote), {});
  REQUIRE_FALSE(client);
  CHECK(client.error().code == ErrorCode::kPermissionDenied);
  CHECK(client.error().message.find("password") != std::string::npos);
  CHECK(client.error().hint.starts_with("run the command again with --ask-become-pass"));
  CHECK(client.error().describe().find("secret") == std::string::npos);
  CHECK(remote.peer(0).written == "secret\n");
}

TEST_CASE("a machine whose host key was unknown does not receive the password") {
  Remote remote;
  remote.host().key_is_new = true;
  auto& peer = remote.add({});
  peer.ended = true;
  peer.status = 1;
  peer.standard_error = "sudo: a password is required\n";
  const auto client = AgentClient::open(node("anna"), with_sudo_password(remote), {});
  REQUIRE_FALSE(client);
  CHECK(peer.elevation == Elevation::kSudo);
  CHECK(peer.written.find("secret") == std::string::npos);
  CHECK(client.error().hint.find("run the command again") != std::string::npos);
}

TEST_CASE("each connection sends the password once, so a second sudo uses a new connection") {
  Remote remote;
  auto older = own_hello();
  older.build = std::string(40, '0');
  remote.add(behind_sudo(agent(older)));
  remote.add(behind_sudo(installer()));
  remote.add(behind_sudo(agent()));
  REQUIRE(AgentClient::open(node("anna"), with_sudo_password(remote, InstallPolicy::kExactBuild), {}));
  CHECK(remote.peer(0).connection == 1);
  CHECK(remote.peer(1).connection == 2);
  CHECK(remote.peer(2).connection == 3);
}

TEST_CASE("where sudo does not ask, one connection is sufficient for the installation too") {
  Remote remote;
  remote.add(no_agent());
  remote.add(installer());
  remote.add(agent());
  REQUIRE(AgentClient::open(node("anna"), with_sudo_password(remote), {}));
  CHECK(remote.peer(2).connection == 1);
  for (std::size_t i = 0; i < 3; ++i) CHECK(remote.peer(i).written.find("secret") == std::string::npos);
}

TEST_CASE("another machine that answers during the installation does not receive the password") {
  Remote remote;
  remote.add(no_agent());
  auto& installing = remote.add(behind_sudo(installer()));
  auto& last = remote.add(behind_sudo(agent()));
  installing.on_read = [&](Peer&) { remote.host().key = "SHA256:another"; };
  const auto client = AgentClient::open(node("anna"), with_sudo_password(remote), {});
  REQUIRE_FALSE(client);
  CHECK(client.error().code == ErrorCode::kUntrusted);
  CHECK(last.written.empty());
}

}  // namespace sparkplan
