#include "engine/verify/levels/packet_probe.h"

#include <algorithm>
#include <chrono>
#include <iterator>

namespace sparkplan {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t kPatienceOfSearch = 600;
constexpr std::int64_t kPatienceForDatagrams = 700;
/// The agent sends each size twice, and waits up to 50 ms for room.
constexpr milliseconds kToSend{100};
/// Sizes tried at once: three rounds find any size.
constexpr std::int64_t kSizesAtOnce = 32;

}  // namespace

PacketProbe::PacketProbe(VerifyContext& context, const HalfPair& pair)
    : from_(context.nodes[pair.from]),
      to_(context.nodes[pair.to]),
      out_(from_.halves[pair.from_half]),
      in_(to_.halves[pair.to_half]) {}

void PacketProbe::echo(const std::vector<std::int64_t>& sizes, std::int64_t patience_ms, Reached& reached) {
  if (!from_.can_be_asked()) return;
  ProbeRequest request{{}, patience_ms};
  for (const auto size : sizes) request.targets.push_back({in_.address, out_.interface, size, 0});
  const auto reply = from_.ask(request, milliseconds(patience_ms));
  if (!reply) {
    (void)note_if_lost(from_, reply.error());
    return;
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (reply->answered[i]) reached.echoed.insert(sizes[i]);
  }
}

void PacketProbe::talk(const std::vector<std::int64_t>& sizes, Reached& reached) {
  if (!from_.can_be_asked() || !to_.can_be_asked()) return;
  const auto token = new_token();
  const auto ear = to_.ask(OpenReceiverRequest{{in_.address, in_.interface}, out_.address, token});
  if (!ear) {
    (void)note_if_lost(to_, ear.error());
    return;
  }
  const auto sent =
      from_.ask(SendDatagramsRequest{{out_.address, out_.interface}, in_.address, ear->datagram_port, token, sizes},
                kToSend * std::ssize(sizes));
  if (!sent) (void)note_if_lost(from_, sent.error());
  const auto heard = to_.ask(CloseReceiverRequest{sizes, kPatienceForDatagrams}, milliseconds(kPatienceForDatagrams));
  if (heard) {
    reached.heard.insert(heard->received.begin(), heard->received.end());
  } else {
    (void)note_if_lost(to_, heard.error());
  }
}

std::int64_t PacketProbe::largest(std::int64_t works, std::int64_t fails, bool by_echo) {
  while (fails - works > 1) {
    const auto step = std::max<std::int64_t>(1, (fails - works) / (kSizesAtOnce + 1));
    std::vector<std::int64_t> sizes;
    for (auto size = works + step; size < fails && std::ssize(sizes) < kSizesAtOnce; size += step) {
      sizes.push_back(size);
    }
    Reached reached;
    by_echo ? echo(sizes, kPatienceOfSearch, reached) : talk(sizes, reached);
    // Sizes above the first lost one count as lost, too.
    for (const auto size : sizes) {
      if (!reached.any(size)) {
        fails = size;
        break;
      }
      works = size;
    }
  }
  return works;
}

}  // namespace sparkplan
