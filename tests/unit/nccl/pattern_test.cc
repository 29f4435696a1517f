// The data that ranks exchange, and the report about a wrong result.
#include "engine/nccl/pattern.h"

#include <numeric>

#include "tests/support/catch.h"

namespace sparkplan::nccl {
namespace {

constexpr int kRanks = 3;

/// Element `k` of what `rank` receives: the parts of all senders follow each other.
float of_alltoallv(const std::vector<std::vector<float>>& sent, const CollectiveShape& shape, int rank, std::size_t k) {
  const auto part = [&](int from, int to) { return static_cast<std::size_t>(alltoallv_part(shape, from, to, kRanks)); };
  int sender = 0;
  for (; k >= part(sender, rank); ++sender) k -= part(sender, rank);
  for (int peer = 0; peer < rank; ++peer) k += part(sender, peer);
  return sent[static_cast<std::size_t>(sender)][k];
}

/// The data that `rank` receives, computed from all send buffers by the definition of the operation.
std::vector<float> by_definition(Collective collective, const CollectiveShape& shape, int rank, std::int64_t pattern) {
  std::vector<std::vector<float>> sent(kRanks);
  for (int i = 0; i < kRanks; ++i) {
    sent[static_cast<std::size_t>(i)].resize(static_cast<std::size_t>(shape.send));
    fill(sent[static_cast<std::size_t>(i)], pattern, i, 0);
  }
  std::vector<float> received;
  const auto unit = static_cast<std::size_t>(shape.unit);
  const auto sum = [&](std::size_t index) {
    float total = 0;
    for (const auto& one : sent) total += one[index];
    return total;
  };
  const auto own = static_cast<std::size_t>(rank);
  for (std::size_t k = 0; k < static_cast<std::size_t>(shape.receive); ++k) {
    switch (collective) {
      case Collective::kAllReduce:
      case Collective::kReduce:
        received.push_back(sum(k));
        break;
      case Collective::kReduceScatter:
        received.push_back(sum(own * unit + k));
        break;
      case Collective::kBroadcast:
        received.push_back(sent[0][k]);
        break;
      case Collective::kSendReceive:
        received.push_back(sent[(own + kRanks - 1) % kRanks][k]);
        break;
      case Collective::kScatter:
        received.push_back(sent[0][own * unit + k]);
        break;
      case Collective::kAllGather:
      case Collective::kGather:
      case Collective::kHypercube:
        received.push_back(sent[k / unit][k % unit]);
        break;
      case Collective::kAllToAll:
        received.push_back(sent[k / unit][own * unit + k % unit]);
        break;
      case Collective::kAllToAllV:
        received.push_back(of_alltoallv(sent, shape, rank, k));
        break;
    }
  }
  return received;
}

}  // namespace

TEST_CASE("a correct result of each operation passes, whole or in pieces") {
  for (const auto collective : kCollectives) {
    const auto shape = collective_shape(collective, 1200, kRanks);
    for (int rank = 0; rank < kRanks; ++rank) {
      INFO(to_string(collective) << " on rank " << rank);
      const auto right = by_definition(collective, shape, rank, 5);
      const auto expected = expected_of(collective, shape, rank, kRanks);
      Comparison whole;
      compare(right, 0, 5, kRanks, expected, whole);
      CHECK(whole.wrong == 0);
      CHECK(whole.first_wrong.empty());
      Comparison pieces;
      for (std::size_t at = 0; at < right.size(); at += 37) {
        const auto size = std::min<std::size_t>(37, right.size() - at);
        compare(std::span(right).subspan(at, size), static_cast<std::int64_t>(at), 5, kRanks, expected, pieces);
      }
      CHECK(pieces.wrong == 0);
    }
  }
}

TEST_CASE("every element is checked, and the first wrong one is named") {
  for (const auto collective : kCollectives) {
    const auto shape = collective_shape(collective, 1200, kRanks);
    // Of these, only the root receives something.
    const bool to_root = collective == Collective::kReduce || collective == Collective::kGather;
    const int rank = to_root ? 0 : 1;
    CHECK(expected_of(collective, shape, 1, kRanks).empty() == to_root);
    const auto right = by_definition(collective, shape, rank, 5);
    const auto expected = expected_of(collective, shape, rank, kRanks);
    for (std::size_t at = 0; at < right.size(); ++at) {
      auto wrong = right;
      wrong[at] += 1;
      Comparison comparison;
      compare(wrong, 0, 5, kRanks, expected, comparison);
      INFO(to_string(collective) << " at " << at);
      REQUIRE(comparison.wrong == 1);
      CHECK(comparison.first_wrong.starts_with("element " + std::to_string(at) + " is "));
    }
  }
}

TEST_CASE("data of another run, offset or sender is wrong") {
  const auto shape = collective_shape(Collective::kBroadcast, 4096, kRanks);
  const auto expected = expected_of(Collective::kBroadcast, shape, 1, kRanks);
  const auto wrong_elements = [&](std::int64_t pattern, int sender, std::int64_t index) {
    std::vector<float> found(static_cast<std::size_t>(shape.receive));
    fill(found, pattern, sender, index);
    Comparison comparison;
    compare(found, 0, 5, kRanks, expected, comparison);
    return comparison.wrong;
  };
  CHECK(wrong_elements(5, 0, 0) == 0);
  CHECK(wrong_elements(6, 0, 0) > shape.receive * 9 / 10);
  CHECK(wrong_elements(5, 0, 4) > shape.receive * 9 / 10);
  CHECK(wrong_elements(5, 1, 0) == shape.receive);
}

TEST_CASE("a sum reveals a rank that is missing while another is added twice") {
  const auto shape = collective_shape(Collective::kAllReduce, 400, kRanks);
  std::vector<float> found;
  for (std::int64_t k = 0; k < shape.receive; ++k) {
    found.push_back(sent_value(1, 0, k) + sent_value(1, 2, k) + sent_value(1, 2, k));
  }
  Comparison comparison;
  compare(found, 0, 1, kRanks, expected_of(Collective::kAllReduce, shape, 0, kRanks), comparison);
  CHECK(comparison.wrong == shape.receive);
}

TEST_CASE("sums over 256 ranks are exact in a float") { CHECK(sent_value(1, 255, 0) * 256 < 16'777'216.0F); }

}  // namespace sparkplan::nccl
