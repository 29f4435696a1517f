// AgentSession: what `verify` asks.
#include "engine/agent/fabric_ear.h"
#include "engine/agent/fabric_voice.h"
#include "engine/agent/measurements.h"
#include "engine/agent/session.h"
#include "engine/agent/ssh_logins.h"
#include "engine/agent/storage_reading.h"

namespace sparkplan {
namespace {

tl::unexpected<Error> not_live() {
  return failure(ErrorCode::kUnsupported, "in a directory tree nothing is running that could be measured");
}

}  // namespace

Result<Value> AgentSession::answer_open_ear(const OpenEarRequest& request) {
  if (!node_.live()) return not_live();
  ear_.reset();
  SPARK_TRY(ear_, FabricEar::open(request));
  return encode(ear_->ports());
}

Result<Value> AgentSession::answer_close_ear(const CloseEarRequest& request) {
  if (!ear_) return failure(ErrorCode::kBug, "there is no ear to be closed");
  const auto reply = ear_->await(request);
  ear_.reset();
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
    cable_ears_.reset();
    auto opened = CableEars::open(*listen);
    if (!opened) return failure(std::move(opened).error());
    cable_ears_.emplace(*std::move(opened));
    return Value::map();
  }
  if (!cable_ears_) return failure(ErrorCode::kBug, "no cable is listened to");
  if (call != nullptr) {
    called_as_ = call->node;
    cable_ears_->call(called_as_);
    return Value::map();
  }
  const auto heard = cable_ears_->hear(called_as_);
  cable_ears_.reset();
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
