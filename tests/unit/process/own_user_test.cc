#include "engine/process/own_user.h"

#include <future>
#include <vector>

#include "engine/core/text.h"
#include "engine/process/child_process.h"
#include "tests/support/catch.h"

namespace sparkplan {

TEST_CASE("the current user's name and home are the same in all threads, and match id and getent") {
  const auto name = run_and_capture(std::vector<std::string>{"id", "-un"});
  REQUIRE(name);
  const auto entry =
      run_and_capture(std::vector<std::string>{"getent", "passwd", std::string(trim(name->standard_output))});
  REQUIRE(entry);
  std::vector<std::future<std::optional<OwnUser>>> asked;
  for (int i = 0; i < 8; ++i) asked.push_back(std::async(std::launch::async, own_user));
  for (auto& answer : asked) {
    const auto user = answer.get();
    REQUIRE(user);
    CHECK(user->name == trim(name->standard_output));
    CHECK(user->home == split(entry->standard_output, ':').at(5));
  }
}

}  // namespace sparkplan
