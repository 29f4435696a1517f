// Sizes and bandwidths as nccl-tests has them.
#include "engine/model/collective.h"
#include "tests/support/catch.h"

namespace sparkplan {

TEST_CASE("a collective is found by its name") {
  for (const auto collective : kCollectives) CHECK(value_named<Collective>(to_string(collective)) == collective);
  CHECK_FALSE(value_named<Collective>("all_reduce_perf"));
}

TEST_CASE("gather and scatter collectives count the total bytes, in multiples of 16") {
  const auto reduce = collective_shape(Collective::kAllReduce, 1000, 3);
  CHECK(reduce.send == 250);
  CHECK(reduce.receive == 250);
  CHECK(reduce.bytes == 1000);
  const auto gather = collective_shape(Collective::kAllGather, 1000, 3);
  CHECK(gather.send == 80);
  CHECK(gather.receive == 240);
  CHECK(gather.bytes == 960);
  const auto scatter = collective_shape(Collective::kReduceScatter, 1000, 3);
  CHECK(scatter.send == 240);
  CHECK(scatter.receive == 80);
  const auto all = collective_shape(Collective::kAllToAll, 1000, 3);
  CHECK(all.send == 240);
  CHECK(all.receive == 240);
  CHECK(all.unit == 80);
}

TEST_CASE("bus bandwidth is the bandwidth of each link") {
  const std::int64_t gigabyte = 1'000'000'000;
  const auto bus = [&](Collective collective, int ranks) {
    return collective_bandwidth(collective, gigabyte, ranks, 0.1).bus;
  };
  CHECK(collective_bandwidth(Collective::kAllReduce, gigabyte, 8, 0.1).algorithm == Approx(10));
  CHECK(bus(Collective::kAllReduce, 2) == Approx(10));
  CHECK(bus(Collective::kAllReduce, 8) == Approx(17.5));
  CHECK(bus(Collective::kAllGather, 2) == Approx(5));
  CHECK(bus(Collective::kAllGather, 8) == Approx(8.75));
  CHECK(bus(Collective::kReduceScatter, 4) == Approx(7.5));
  CHECK(bus(Collective::kAllToAll, 4) == Approx(7.5));
  CHECK(bus(Collective::kBroadcast, 8) == Approx(10));
  CHECK(bus(Collective::kSendReceive, 8) == Approx(10));
  CHECK(collective_bandwidth(Collective::kAllReduce, gigabyte, 2, 0).bus == 0);
}

}  // namespace sparkplan
