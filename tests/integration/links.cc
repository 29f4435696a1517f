#include "tests/integration/links.h"

#include <algorithm>
#include <nlohmann/json.hpp>

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

}  // namespace sparkplan::test
