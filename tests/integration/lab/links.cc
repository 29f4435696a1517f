#include "tests/integration/lab/links.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

using Json = nlohmann::json;

Json link_of(const Host& host, const std::string& interface) {
  return Json::parse(host.shell("ip -j address show dev " + interface)).at(0);
}

}  // namespace

int mtu_of(const Host& host, const std::string& interface) { return link_of(host, interface).at("mtu"); }

Addresses addresses_of(const Host& host, const std::string& interface) {
  Addresses addresses;
  const Json shown = link_of(host, interface);
  for (const auto& one : shown.at("addr_info")) {
    if (one.at("family") != "inet") continue;
    addresses.push_back(one.at("local").get<std::string>() + "/" + std::to_string(one.at("prefixlen").get<int>()));
  }
  std::sort(addresses.begin(), addresses.end());
  return addresses;
}

bool is_up(const Host& host, const std::string& interface) {
  const auto flags = link_of(host, interface).at("flags");
  return std::find(flags.begin(), flags.end(), "UP") != flags.end();
}

bool full_frame_reaches(const Host& host, const std::string& address) {
  return eventually([&] {
    return host.run({"ping", "-M", "do", "-s", "8972", "-c", "1", "-W", "1", address}).exit_status == 0;
  });
}

void require_fabric_links(const Host& host) {
  INFO("on " << host.name());
  const std::string last = "." + std::to_string(10 + host.number()) + "/24";
  CHECK(addresses_of(host, kHalfA) == Addresses{"192.168.100" + last});
  CHECK(addresses_of(host, kHalfB) == Addresses{"192.168.101" + last});
  for (const std::string& half : {kHalfA, kHalfB}) {
    CHECK(mtu_of(host, half) == 9000);
    CHECK(is_up(host, half));
  }
}

void require_bare_links(const Host& host) {
  INFO("on " << host.name());
  CHECK_FALSE(host.has(kFabricFile));
  for (const std::string& half : {kHalfA, kHalfB}) {
    CHECK(mtu_of(host, half) == 1500);
    CHECK(addresses_of(host, half).empty());
  }
}

}  // namespace sparkplan::test
