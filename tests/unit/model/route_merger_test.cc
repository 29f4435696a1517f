// Merging many routes into a few never leaves a used address free.
#include "engine/model/route_merger.h"

#include <algorithm>
#include <random>

#include "engine/model/ipv4.h"
#include "tests/support/catch.h"

namespace sparkplan {
namespace {

using Routes = std::vector<RouteFacts>;

RouteFacts route(const std::string& interface, const std::string& destination) {
  RouteFacts one;
  one.interface = interface;
  one.destination = destination;
  return one;
}

std::string address(std::uint32_t bits) { return Ipv4{bits}.str(); }

std::optional<Routes> few_of(const Routes& routes, std::size_t most) {
  RouteMerger merger(most);
  for (const RouteFacts& one : routes) merger.add(one);
  return std::move(merger).take();
}

/// Format: "tun0 10.1.0.0/16 x 300".
std::vector<std::string> told(const Routes& routes) {
  std::vector<std::string> texts;
  for (const RouteFacts& one : routes) {
    texts.push_back(one.interface + " " + one.destination +
                    (one.stands_for == 1 ? "" : " x " + std::to_string(one.stands_for)));
  }
  return texts;
}

}  // namespace

TEST_CASE("routes: up to the limit all routes are kept, including those of other tables and gateways") {
  const Routes routes{route("b", "0.0.0.0/0"), route("a", "10.0.0.0/8"), route("a", "10.0.0.0/8"), route("a", "::/0")};
  CHECK(few_of(routes, 4) == routes);
  CHECK(few_of({}, 4) == Routes{});
}

TEST_CASE("routes: repeated routes are dropped first, then routes inside a wider one on the same interface") {
  Routes routes{route("a", "10.0.0.0/8"), route("a", "10.0.0.0/8"), route("b", "10.0.0.0/8")};
  CHECK(told(few_of(routes, 2).value()) == std::vector<std::string>{"a 10.0.0.0/8", "b 10.0.0.0/8"});
  routes = {route("a", "10.1.2.0/24"), route("a", "10.1.2.3/32"), route("a", "10.1.2.77/32")};
  CHECK(told(few_of(routes, 1).value()) == std::vector<std::string>{"a 10.1.2.0/24"});
}

TEST_CASE("routes: adjacent routes become the smallest containing network, with their number") {
  Routes routes;
  for (std::uint32_t i = 0; i < 40; i += 2) routes.push_back(route("bgp0", address(0x0A010200 + i) + "/32"));
  routes.push_back(route("home0", "192.168.1.0/24"));
  routes.push_back(route("bgp0", "0.0.0.0/0"));
  CHECK(told(few_of(routes, 4).value()) ==
        std::vector<std::string>{"bgp0 0.0.0.0/0", "bgp0 10.1.2.0/26 x 20", "home0 192.168.1.0/24"});
}

TEST_CASE("routes: a route without a carrier is not merged with one that has a carrier") {
  Routes routes{route("a", "10.1.2.0/25"), route("a", "10.1.2.128/25"), route("a", "10.1.2.128/25")};
  routes[1].link_down = true;
  CHECK(told(few_of(routes, 2).value()) == std::vector<std::string>{"a 10.1.2.128/25", "a 10.1.2.0/24 x 2"});
}

TEST_CASE("routes: Internet routes are merged around the private ranges, whose routes stay") {
  Routes routes{route("up0", "192.168.7.0/24"), route("up0", "172.17.0.0/16")};
  for (std::uint32_t net = 0x0B0000; net < 0xDF0000; net += 0x71) {
    routes.push_back(route("up0", address(net << 8U) + "/24"));
  }
  REQUIRE(routes.size() > 120'000);
  const auto few = few_of(routes, 4096);
  REQUIRE(few);
  CHECK(few->size() <= 4096);
  const auto texts = told(*few);
  CHECK(std::count(texts.begin(), texts.end(), "up0 192.168.7.0/24") == 1);
  CHECK(std::count(texts.begin(), texts.end(), "up0 172.17.0.0/16") == 1);
  const auto in_use = [&](const char* network) {
    return std::any_of(few->begin(), few->end(), [&](const RouteFacts& one) {
      return one.stands_for > 1 && parse_ipv4_network(one.destination)->overlaps(*parse_ipv4_network(network));
    });
  };
  CHECK_FALSE(in_use("10.0.0.0/8"));
  CHECK(in_use("192.167.0.0/16"));
  CHECK(in_use("8.0.0.0/5"));
}

TEST_CASE("routes: of IPv6 the default route and one route per interface are kept") {
  Routes routes{route("a", "::/0")};
  for (int i = 0; i < 100; ++i) routes.push_back(route("a", "fd00:" + std::to_string(i) + "::/32"));
  CHECK(told(few_of(routes, 2).value()) == std::vector<std::string>{"a fd00:0::/32 x 100", "a ::/0"});
}

TEST_CASE("routes: more interfaces than the limit are an error") {
  Routes routes;
  for (int i = 0; i < 50; ++i) routes.push_back(route("tap" + std::to_string(i), "10.0.0.0/8"));
  CHECK_FALSE(few_of(routes, 10));
  CHECK(few_of(routes, 50) == routes);
}

TEST_CASE("routes: every used address stays covered, and every unmerged route is real") {
  std::mt19937 random(7);  // NOLINT: the same in every run.
  const auto below = [&](std::uint32_t end) { return static_cast<std::uint32_t>(random() % end); };
  for (int run = 0; run < 30; ++run) {
    Routes routes;
    for (int i = 0; i < 300; ++i) {
      const Ipv4Interface any{{(below(2) == 0 ? 0x0A000000U : 0xC0A00000U) + below(1U << 21U)},
                              static_cast<int>(8 + below(25))};
      routes.push_back(route("if" + std::to_string(below(3)), any.network().str()));
    }
    const auto few = few_of(routes, 40);
    if (!few) continue;
    CHECK(few->size() <= 40);
    for (const RouteFacts& one : routes) {
      const auto network = *parse_ipv4_network(one.destination);
      CHECK(std::any_of(few->begin(), few->end(), [&](const RouteFacts& kept) {
        return kept.interface == one.interface && parse_ipv4_network(kept.destination)->contains(network);
      }));
    }
    for (const RouteFacts& kept : *few) {
      if (kept.stands_for > 1) continue;
      CHECK(std::any_of(routes.begin(), routes.end(), [&](const RouteFacts& one) { return one == kept; }));
    }
  }
}

}  // namespace sparkplan
