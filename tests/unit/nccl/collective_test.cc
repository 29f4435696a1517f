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
  CHECK(collective_shape(Collective::kReduce, 1000, 3).receive == 250);
  const auto gathered = collective_shape(Collective::kGather, 1000, 3);
  CHECK(gathered.send == 80);
  CHECK(gathered.receive == 240);
  const auto scattered = collective_shape(Collective::kScatter, 1000, 3);
  CHECK(scattered.send == 240);
  CHECK(scattered.receive == 80);
  CHECK(collective_shape(Collective::kHypercube, 1000, 4).bytes == 960);
}

TEST_CASE("the parts of an alltoallv grow with the distance, in multiples of 16 bytes, and are balanced") {
  // 1600 bytes are 100 elements per rank: 66, 133 and 200 of them for the three distances, rounded down.
  const auto shape = collective_shape(Collective::kAllToAllV, 1600, 4);
  CHECK(shape.unit == 100);
  for (const auto& [to, part] : {std::pair(1, 0), std::pair(2, 64), std::pair(3, 132), std::pair(0, 200)}) {
    CHECK(alltoallv_part(shape, 1, to, 4) == part);
  }
  CHECK(shape.send == 396);
  CHECK(shape.receive == 396);
  CHECK(shape.bytes == 1584);
  for (int rank = 0; rank < 4; ++rank) {
    std::int64_t received = 0;
    for (int from = 0; from < 4; ++from) received += alltoallv_part(shape, from, rank, 4);
    CHECK(received == shape.receive);
  }
  // Two ranks send each other all, and one rank keeps it.
  CHECK(collective_shape(Collective::kAllToAllV, 1000, 2).bytes == 992);
  CHECK(alltoallv_part(collective_shape(Collective::kAllToAllV, 1000, 2), 1, 0, 2) == 248);
  CHECK(collective_shape(Collective::kAllToAllV, 1024, 1).send == 256);
}

TEST_CASE("a size without an element for each rank has no unit") {
  CHECK(collective_shape(Collective::kAllGather, 16, 2).unit == 0);
  CHECK(collective_shape(Collective::kAllGather, 32, 2).unit == 4);
  CHECK(collective_shape(Collective::kAllReduce, 8, 2).unit == 2);
}

TEST_CASE("a hypercube has a power of two of ranks") {
  for (const int ranks : {1, 2, 4, 8}) CHECK(fits_ranks(Collective::kHypercube, ranks));
  for (const int ranks : {0, 3, 6, 12}) CHECK_FALSE(fits_ranks(Collective::kHypercube, ranks));
  CHECK(fits_ranks(Collective::kAllGather, 3));
}

TEST_CASE("in place, the smaller buffer is the rank's part of the larger one") {
  for (const auto collective : kCollectives) {
    INFO(to_string(collective));
    const auto shape = collective_shape(collective, 1024, 4);
    const auto offsets = in_place_offsets(collective, shape, 3);
    CHECK(offsets.send == (shape.send < shape.receive ? 3 * shape.unit : 0));
    CHECK(offsets.receive == (shape.receive < shape.send ? 3 * shape.unit : 0));
  }
  CHECK_FALSE(has_in_place(Collective::kAllToAll));
  CHECK_FALSE(has_in_place(Collective::kAllToAllV));
  CHECK_FALSE(has_in_place(Collective::kSendReceive));
  CHECK(has_in_place(Collective::kScatter));
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
  CHECK(bus(Collective::kAllToAllV, 4) == Approx(7.5));
  CHECK(bus(Collective::kBroadcast, 8) == Approx(10));
  CHECK(bus(Collective::kSendReceive, 8) == Approx(10));
  CHECK(bus(Collective::kReduce, 8) == Approx(10));
  CHECK(bus(Collective::kGather, 4) == Approx(7.5));
  CHECK(bus(Collective::kScatter, 4) == Approx(7.5));
  // Here nccl-tests' algbw leaves out the rank's own part.
  CHECK(bus(Collective::kHypercube, 4) == Approx(7.5));
  CHECK(collective_bandwidth(Collective::kHypercube, gigabyte, 4, 0.1).algorithm == Approx(7.5));
  CHECK(collective_bandwidth(Collective::kAllReduce, gigabyte, 2, 0).bus == 0);
}

}  // namespace sparkplan
