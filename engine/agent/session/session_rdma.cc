// AgentSession: RDMA measurements.
#include "engine/agent/kernel/rdma_ends.h"
#include "engine/agent/session/session.h"

namespace sparkplan {
namespace {

tl::unexpected<Error> no_session() { return failure(ErrorCode::kNotFound, "no RDMA session was opened"); }

}  // namespace

Result<RdmaCountersReply> AgentSession::handle(const RdmaCountersRequest& request) const {
  SPARK_CHECK(check_measurable());
  return read_rdma_counters(request);
}

Result<RdmaEndpoint> AgentSession::handle(const RdmaOpenRequest& request) {
  SPARK_CHECK(check_measurable());
  if (!rdma_) rdma_ = make_rdma_ends();
  return rdma_->open(request);
}

Result<void> AgentSession::handle(const RdmaConnectRequest& request) {
  return rdma_ ? rdma_->connect(request) : no_session();
}

Result<RdmaWriteReply> AgentSession::handle(const RdmaWriteRequest& request) {
  return rdma_ ? rdma_->write(request) : no_session();
}

Result<RdmaLatencyReply> AgentSession::handle(const RdmaLatencyRequest& request) {
  return rdma_ ? rdma_->measure_latency(request) : no_session();
}

Result<void> AgentSession::handle(const RdmaCloseRequest& request) {
  if (!rdma_) return no_session();
  rdma_->close(request);
  return {};
}

}  // namespace sparkplan
