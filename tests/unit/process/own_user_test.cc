#include "engine/process/own_user.h"

#include <stdlib.h>

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

TEST_CASE("the home is $HOME, else the password database's, and stands for a leading ~ alone") {
  const char* before = ::getenv("HOME");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("HOME", "/home/of-test", 1);
  CHECK(own_home() == "/home/of-test");
  CHECK(expand_home("~") == "/home/of-test");
  CHECK(expand_home("~/a/~") == "/home/of-test/a/~");
  for (const std::string path : {"~other/a", "/srv/~", "a", ""}) CHECK(expand_home(path) == path);
  ::setenv("HOME", "", 1);
  const auto user = own_user();
  CHECK(own_home() == (user ? user->home : "/"));
  before == nullptr ? ::unsetenv("HOME") : ::setenv("HOME", kept.c_str(), 1);
}

}  // namespace sparkplan
