#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/agent/state/node_lock.h"
#include "tests/support/catch.h"
#include "tests/unit/agent/scratch.h"
#include "tests/unit/agent/scratch_node.h"

namespace sparkplan {
namespace {

using test::node_at;
using test::ScratchDirectory;

const LockHolder kAnna{"anna@laptop", 4242, "apply", "2026-03-01T12:00:00Z"};
const LockHolder kBert{"bert@desk", 7, "apply", "2026-03-01T12:00:01Z"};

}  // namespace

TEST_CASE("the second run receives the name of the lock's holder") {
  const ScratchDirectory root;
  auto node = node_at(root);
  auto other_node = node_at(root);
  const auto first = NodeLock::acquire(kAnna, node);
  REQUIRE(first);
  const auto second = NodeLock::acquire(kBert, other_node);
  REQUIRE_FALSE(second);
  CHECK(second.error().code == ErrorCode::kBusy);
  CHECK(second.error().message.find(kAnna.describe()) != std::string::npos);
  const auto holder = lock_holder(other_node);
  REQUIRE(holder);
  REQUIRE(*holder);
  CHECK((*holder)->describe() == kAnna.describe());
}

TEST_CASE("destroying the lock object frees the lock, and moving it transfers the lock") {
  const ScratchDirectory root;
  auto node = node_at(root);
  {
    auto lock = NodeLock::acquire(kAnna, node);
    REQUIRE(lock);
    const NodeLock moved(std::move(*lock));
    CHECK_FALSE(NodeLock::acquire(kBert, node));
  }
  CHECK_FALSE(*lock_holder(node));
  CHECK(NodeLock::acquire(kBert, node));
}

TEST_CASE("a longer earlier name leaves no remainder in the next holder's name") {
  const ScratchDirectory root;
  auto node = node_at(root);
  { REQUIRE(NodeLock::acquire({std::string(500, 'x'), 1, "apply", "then"}, node)); }
  const auto lock = NodeLock::acquire(kBert, node);
  REQUIRE(lock);
  CHECK((*lock_holder(node))->describe() == kBert.describe());
}

TEST_CASE("reading the holder does not take the lock and leaves no trace") {
  const ScratchDirectory root;
  auto node = node_at(root);
  CHECK_FALSE(*lock_holder(node));
  CHECK(root.tree().empty());
  { REQUIRE(NodeLock::acquire(kAnna, node)); }
  CHECK_FALSE(*lock_holder(node));
  CHECK(NodeLock::acquire(kBert, node));
}

TEST_CASE("a killed process releases its lock") {
  const ScratchDirectory root;
  auto node = node_at(root);
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const auto lock = NodeLock::acquire(kAnna, node);
    const char answer = lock ? 'y' : 'n';
    (void)!::write(ready[1], &answer, 1);
    while (true) ::pause();
  }
  char answer = '?';
  const auto count = ::read(ready[0], &answer, 1);
  const auto while_it_lives = lock_holder(node);
  const auto refused = NodeLock::acquire(kBert, node);
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  ::close(ready[0]);
  ::close(ready[1]);
  CHECK(count == 1);
  CHECK(answer == 'y');
  REQUIRE(while_it_lives);
  CHECK(while_it_lives->has_value());
  CHECK_FALSE(refused);
  CHECK(NodeLock::acquire(kBert, node));
}

TEST_CASE("a lock with an unreadable holder is still held") {
  const ScratchDirectory root;
  auto node = node_at(root);
  const auto lock = NodeLock::acquire(kAnna, node);
  REQUIRE(lock);
  root.write("/var/lib/sparkplan/lock", "damaged");
  REQUIRE(*lock_holder(node));
  CHECK(NodeLock::acquire(kBert, node).error().code == ErrorCode::kBusy);
}

TEST_CASE("the lock file of a directory tree is readable by root alone") {
  const ScratchDirectory root;
  auto node = node_at(root);
  const auto lock = NodeLock::acquire(kAnna, node);
  REQUIRE(lock);
  CHECK(root.mode("/var/lib/sparkplan/lock") == 0600);
  CHECK(root.mode("/var/lib/sparkplan") == 0700);
}

}  // namespace sparkplan
