// `sync` with several sources, on real hosts with a real fabric.
#include <cstdint>
#include <string>

#include "engine/core/text.h"
#include "tests/integration/jobs/synced_host.h"
#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/links.h"
#include "tests/integration/lab/terminal.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

/// The bytes that a host has sent over the halves of its port.
std::int64_t fabric_bytes_of(const SyncedHost& host) {
  std::int64_t bytes = 0;
  for (const std::string& half : {kHalfA, kHalfB}) {
    bytes += std::stoll(host->shell("cat /sys/class/net/" + half + "/statistics/tx_bytes"));
  }
  return bytes;
}

/// Four hosts: the first two have the directory, and their programs know it.
struct TwoSources {
  TwoSources() {
    make_tree(source);
    controller.cluster(kFile + nodes_of_lab(4));
    require_exit(controller.run({"apply", "--yes"}), 0);
    require_exit(controller.run({"sync", "--only", "spark-[01-02]"}), 0);
  }
  /// Waits for the first bytes of a sync with a low rate.
  bool has_begun(const SyncedHost& host) const {
    return eventually([&] {
      const auto size = host->shell("du -sk " + kTree + "/.sparkplan-partial 2>/dev/null | cut -f1");
      return !trim(size).empty() && std::stoll(size) > 1000;
    });
  }
  bool all_equal() const {
    const std::string right = source.digest();
    return third.digest() == right && fourth.digest() == right;
  }

  SyncedHost source{1};
  SyncedHost second{2};
  SyncedHost third{3};
  SyncedHost fourth{4};
  Controller controller;
};

}  // namespace

TEST_CASE("sync: two hosts that have a directory serve one host each, and keep their own files") {
  const TwoSources hosts;
  // Its content is known to be equal only after it was read.
  hosts.second->shell("touch -d 2020-01-01 " + kTree + "/large");
  const auto before_first = fabric_bytes_of(hosts.source);
  const auto before_second = fabric_bytes_of(hosts.second);
  const auto before_third = fabric_bytes_of(hosts.third);
  const auto run = hosts.controller.run({"sync", "--json"});
  require_exit(run, 0);
  CHECK(run.document("sync.schema.json")["items"][0]["nodes"][1]["status"] == "present");
  CHECK(hosts.all_equal());
  constexpr std::int64_t kTreeSize = 30'000'000;
  CHECK(fabric_bytes_of(hosts.source) - before_first > kTreeSize);
  CHECK(fabric_bytes_of(hosts.source) - before_first < 2 * kTreeSize);
  CHECK(fabric_bytes_of(hosts.second) - before_second > kTreeSize);
  CHECK(fabric_bytes_of(hosts.third) - before_third < kTreeSize);
  CHECK(trim(hosts.second->shell("stat -c %Y " + kTree + "/large")) ==
        trim(hosts.second->shell("date -d 2020-01-01 +%s")));
}

TEST_CASE("sync: one of two hosts that serve a directory is killed, and its receiver gets the rest from others") {
  const TwoSources hosts;
  Terminal terminal(hosts.controller.command({"sync", "--limit", "8MB/s"}));
  REQUIRE(hosts.has_begun(hosts.fourth));
  int code = 0;
  SECTION("the source") {
    hosts.source->shell("pkill -KILL -x sparkplan-copy");
    code = 4;
  }
  SECTION("the other one") { hosts.second->shell("pkill -KILL -x sparkplan-copy"); }
  const auto ended = terminal.finish(seconds(90));
  INFO(terminal.transcript());
  CHECK(ended == code);
  if (code != 0) CHECK(contains(terminal.transcript(), "spark-01"));
  CHECK(hosts.all_equal());
}

}  // namespace sparkplan::test
