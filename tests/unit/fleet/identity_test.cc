#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <regex>
#include <set>

#include "engine/fleet/session/run_identity.h"
#include "tests/support/catch.h"

namespace sparkplan {

TEST_CASE("a run id is its UTC time and eight hexadecimal digits") {
  CHECK(std::regex_match(new_run_id().value(), std::regex("20[0-9]{6}T[0-9]{6}Z-[0-9a-f]{8}")));
}

TEST_CASE("later run ids sort after earlier ones, and all are unique") {
  std::set<std::string> ids;
  std::string last_time;
  for (int i = 0; i < 20; ++i) {
    const auto id = new_run_id().value();
    const auto time = id.substr(0, id.find('-'));
    CHECK(time >= last_time);
    last_time = time;
    CHECK(ids.insert(id).second);
  }
}

TEST_CASE("a cluster's id is a random UUID of version 4") {
  const std::regex form("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}");
  std::set<std::string> ids;
  for (int i = 0; i < 500; ++i) {
    const auto id = new_uuid().value();
    CHECK(std::regex_match(id, form));
    CHECK(ids.insert(id).second);
  }
}

TEST_CASE("without a random source an id is an error, and never a text that can be guessed") {
  const auto fails_with = [](int error_number) {
    return random_hexadecimal(32, [=](void*, std::size_t) -> ssize_t {
      errno = error_number;
      return -1;
    });
  };
  REQUIRE_FALSE(fails_with(ENOSYS));
  CHECK(fails_with(ENOSYS).error().sys_errno == ENOSYS);
  CHECK_FALSE(random_hexadecimal(32, [](void*, std::size_t size) { return static_cast<ssize_t>(size) - 1; }));
}

TEST_CASE("a signal does not end the reading of random bytes") {
  int calls = 0;
  const auto text = random_hexadecimal(4, [&](void* buffer, std::size_t size) -> ssize_t {
    if (++calls < 3) {
      errno = EINTR;
      return -1;
    }
    std::memset(buffer, 0x1c, size);
    return static_cast<ssize_t>(size);
  });
  CHECK(calls == 3);
  REQUIRE(text);
  CHECK(*text == "cccc");
}

TEST_CASE("a lock names user, machine, process, operation and time") {
  const auto holder = this_controller("apply");
  CHECK(std::regex_match(holder.who, std::regex("[^@]+@[^@]+")));
  CHECK(holder.pid == ::getpid());
  CHECK(holder.operation == "apply");
  CHECK(std::regex_match(holder.since, std::regex("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")));
}

}  // namespace sparkplan
