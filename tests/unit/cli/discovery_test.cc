// The address that init uses to contact a discovered machine.
#include "engine/cli/discovery/discovery.h"
#include "tests/support/catch.h"

namespace sparkplan {

TEST_CASE("discovery: a machine is contacted at the first reachable address, or else at its first address") {
  const std::vector<std::string> addresses{"172.17.0.1", "10.0.0.11", "10.0.0.12"};
  std::vector<std::string> asked;
  const auto answers_at = [&](const std::string& right) {
    return [&asked, right](const std::string& address) {
      asked.push_back(address);
      return address == right;
    };
  };
  CHECK(first_that_answers(addresses, answers_at("10.0.0.11")) == "10.0.0.11");
  CHECK(asked == std::vector<std::string>{"172.17.0.1", "10.0.0.11"});
  CHECK(first_that_answers(addresses, answers_at("10.9.9.9")) == "172.17.0.1");
}

TEST_CASE("discovery: the only address of a machine is not probed") {
  bool asked = false;
  CHECK(first_that_answers({"10.0.0.11"}, [&](const std::string&) { return asked = true; }) == "10.0.0.11");
  CHECK_FALSE(asked);
}

TEST_CASE("discovery: the user sees every address at which a machine may be contacted") {
  CHECK(shown_place("10.0.0.11:2222", {"10.0.0.11", "10.0.0.66"}) == "10.0.0.11:2222, or 10.0.0.66");
  CHECK(shown_place("10.0.0.11", {"10.0.0.11"}) == "10.0.0.11");
  CHECK(shown_place("192.168.100.12", {}) == "192.168.100.12");
}

}  // namespace sparkplan
