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

TEST_CASE("discovery: an address of a machine that the user named is dropped, and not the machine that announces it") {
  const std::vector<AnnouncedHost> hosts{
      {"a.local", {"10.0.0.11", "10.0.0.12"}, 22}, {"b.local", {"10.0.0.11"}, 22}, {"c.local", {"10.0.0.13"}, 22}};
  const auto others = hosts_besides({"10.0.0.11", "c.local"}, hosts);
  CHECK(others == std::vector<AnnouncedHost>{{"a.local", {"10.0.0.12"}, 22}});
}

TEST_CASE("discovery: a machine is contacted first at an address that no other one announces") {
  const auto own = own_addresses_first({{"spark-04.local", {"172.17.0.1", "10.0.0.14"}, 22},
                                        {"spark-05.local", {"10.0.0.14", "172.17.0.1", "10.0.0.15"}, 22},
                                        {"spark-06.local", {"10.0.0.14"}, 22}});
  CHECK(own == std::vector<AnnouncedHost>{{"spark-04.local", {"172.17.0.1", "10.0.0.14"}, 22},
                                          {"spark-05.local", {"10.0.0.15", "10.0.0.14", "172.17.0.1"}, 22},
                                          {"spark-06.local", {"10.0.0.14"}, 22}});
}

TEST_CASE("discovery: an address that is announced under two names is read once, for the first of them") {
  const auto host = [](const std::string& text) {
    auto parsed = parse_host_argument(text);
    REQUIRE(parsed);
    return *parsed;
  };
  std::vector<std::size_t> others;
  const auto once =
      each_place_once({host("10.0.0.11"), host("10.0.0.12"), host("10.0.0.11"), host("10.0.0.11:2222")}, others);
  // The text of the third is that of the first: only its place shows which machine is left out.
  CHECK(others == std::vector<std::size_t>{2});
  REQUIRE(once.size() == 3);
  CHECK(once[0].given == "10.0.0.11");
  CHECK(once[1].given == "10.0.0.12");
  CHECK(once[2].given == "10.0.0.11:2222");
}

}  // namespace sparkplan
