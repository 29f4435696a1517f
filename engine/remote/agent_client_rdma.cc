// AgentClient: RDMA measurements.
#include "engine/remote/agent_client.h"

namespace sparkplan {

Result<RdmaEndpoint> AgentClient::rdma_open(const RdmaOpenRequest& request) {
  return ask(request, decode_rdma_endpoint);
}

Result<void> AgentClient::rdma_connect(const RdmaConnectRequest& request) {
  return call(request).map([](const Value&) {});
}

Result<RdmaWriteReply> AgentClient::rdma_write(const RdmaWriteRequest& request) {
  SPARK_TRY(auto reply, ask(request, decode_rdma_write_reply));
  if (reply.results.size() == request.sessions.size()) return reply;
  return failure(ErrorCode::kFailed, "the agent reported on " + std::to_string(reply.results.size()) + " of " +
                                         std::to_string(request.sessions.size()) + " RDMA sessions");
}

Result<RdmaLatencyReply> AgentClient::rdma_latency(const RdmaLatencyRequest& request) {
  return ask(request, decode_rdma_latency_reply);
}

Result<RdmaCountersReply> AgentClient::rdma_counters(const RdmaCountersRequest& request) {
  return ask(request, decode_rdma_counters_reply);
}

Result<void> AgentClient::rdma_close(const RdmaCloseRequest& request) {
  return call(request).map([](const Value&) {});
}

}  // namespace sparkplan
