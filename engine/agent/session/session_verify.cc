// AgentSession: what `verify` asks.
#include "engine/agent/facts/storage_reading.h"
#include "engine/agent/measure/ssh_logins.h"
#include "engine/agent/measure/traffic_receiver.h"
#include "engine/agent/measure/traffic_sender.h"
#include "engine/agent/session/session.h"
#include "engine/agent/state/measurement_history.h"

namespace sparkplan {
namespace {

tl::unexpected<Error> not_live() {
  return failure(ErrorCode::kUnsupported, "in a directory tree nothing is running that could be measured");
}

}  // namespace

Result<Value> AgentSession::answer_open_ear(const OpenEarRequest& request) {
  if (!node_.live()) return not_live();
  receiver_.reset();
  SPARK_TRY(receiver_, TrafficReceiver::open(request));
  return encode(receiver_->ports());
}

Result<Value> AgentSession::answer_close_ear(const CloseEarRequest& request) {
  if (!receiver_) return failure(ErrorCode::kBug, "there is no ear to be closed");
  const auto reply = receiver_->await(request);
  receiver_.reset();
  return encode(reply);
}

Result<Value> AgentSession::answer_send_datagrams(const SendDatagramsRequest& request) const {
  if (!node_.live()) return not_live();
  SPARK_CHECK(send_datagrams(request));
  return Value::map();
}

Result<Value> AgentSession::answer_measure_tcp(const MeasureTcpRequest& request) const {
  if (!node_.live()) return not_live();
  SPARK_TRY(const auto reply, measure_tcp(request, stop_asked_));
  return encode(reply);
}

std::optional<Result<Value>> AgentSession::answer_about_cables(const Request& request) {
  const auto* listen = std::get_if<ListenToCablesRequest>(&request);
  const auto* call = std::get_if<CallIntoCablesRequest>(&request);
  if (listen == nullptr && call == nullptr && !std::holds_alternative<HearCablesRequest>(request)) return std::nullopt;
  if (!node_.live()) return not_live();
  if (listen != nullptr) {
    link_probe_.reset();
    auto opened = LinkProbe::open(*listen);
    if (!opened) return failure(std::move(opened).error());
    link_probe_.emplace(*std::move(opened));
    return Value::map();
  }
  if (!link_probe_) return failure(ErrorCode::kBug, "no cable is listened to");
  if (call != nullptr) {
    called_as_ = call->node;
    link_probe_->call(called_as_);
    return Value::map();
  }
  const auto heard = link_probe_->hear(called_as_);
  link_probe_.reset();
  return encode(heard);
}

Result<Value> AgentSession::answer_ssh_login(const SshLoginRequest& request) const {
  if (!node_.live()) return not_live();
  SPARK_TRY(const auto reply, try_logins(request, node_, stop_asked_));
  return encode(reply);
}

Result<Value> AgentSession::answer_read_storage(const ReadStorageRequest& request) const {
  if (!node_.live()) return not_live();
  SPARK_TRY(const auto reply, read_storage(request, node_));
  return encode(reply);
}

Result<Value> AgentSession::answer_measurements(const MeasurementsRequest& request) {
  SPARK_TRY(const auto reply, keep_measurements(request, node_));
  return encode(reply);
}

}  // namespace sparkplan
