// AgentSession: RDMA measurements.
#include "engine/agent/kernel/rdma_ends.h"
#include "engine/agent/session/session.h"

namespace sparkplan {

std::optional<Result<Value>> AgentSession::answer_rdma(const Request& request) {
  const auto encoded = [](const auto& result) { return result.map([](const auto& reply) { return encode(reply); }); };
  const auto done = [](const Result<void>& result) { return result.map([] { return Value::map(); }); };
  if (const auto* counters = std::get_if<RdmaCountersRequest>(&request)) {
    if (!node_.live()) return no_rdma();
    return encode(read_rdma_counters(*counters));
  }
  if (const auto* open = std::get_if<RdmaOpenRequest>(&request)) {
    if (!node_.live()) return no_rdma();
    if (!rdma_) rdma_ = make_rdma_ends();
    return encoded(rdma_->open(*open));
  }
  const auto* connect = std::get_if<RdmaConnectRequest>(&request);
  const auto* write = std::get_if<RdmaWriteRequest>(&request);
  const auto* latency = std::get_if<RdmaLatencyRequest>(&request);
  const auto* close = std::get_if<RdmaCloseRequest>(&request);
  if (connect == nullptr && write == nullptr && latency == nullptr && close == nullptr) return std::nullopt;
  if (!rdma_) return failure(ErrorCode::kNotFound, "no RDMA session was opened");
  if (connect != nullptr) return done(rdma_->connect(*connect));
  if (write != nullptr) return encoded(rdma_->write(*write));
  if (latency != nullptr) return encoded(rdma_->measure_latency(*latency));
  rdma_->close(*close);
  return Value::map();
}

tl::unexpected<Error> AgentSession::no_rdma() {
  return failure(ErrorCode::kUnsupported, "in a directory tree nothing is running that could be measured");
}

}  // namespace sparkplan
