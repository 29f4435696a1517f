#include <unistd.h>

#include <regex>
#include <set>

#include "engine/fleet/run_identity.h"
#include "tests/support/catch.h"

namespace sparkplan {

TEST_CASE("a run id is its time in UTC and eight digits") {
  CHECK(std::regex_match(new_run_id(), std::regex("20[0-9]{6}T[0-9]{6}Z-[0-9a-f]{8}")));
}

TEST_CASE("run ids of later runs sort later, and no two are equal") {
  std::set<std::string> ids;
  std::string last_time;
  for (int i = 0; i < 20; ++i) {
    const auto id = new_run_id();
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
    const auto id = new_uuid();
    CHECK(std::regex_match(id, form));
    CHECK(ids.insert(id).second);
  }
}

TEST_CASE("a lock names user, machine, process, operation and time") {
  const auto holder = this_controller("apply");
  CHECK(std::regex_match(holder.who, std::regex("[^@]+@[^@]+")));
  CHECK(holder.pid == ::getpid());
  CHECK(holder.operation == "apply");
  CHECK(std::regex_match(holder.since, std::regex("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")));
}

}  // namespace sparkplan
