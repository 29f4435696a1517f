#include "engine/wire/cable_messages.h"

#include <utility>

namespace sparkplan {
namespace {

constexpr std::size_t kTokenLength = 32;
constexpr std::size_t kMaxInterfaces = 256;
constexpr std::size_t kMaxCalls = 65'536;
/// Neither a node's nor an interface's name is longer.
constexpr std::size_t kMaxName = 255;

tl::unexpected<Error> malformed(std::string_view what) {
  return failure(ErrorCode::kInvalidInput, "malformed message: " + std::string(what));
}

bool is_name(const std::string& text) {
  return !text.empty() && text.size() <= kMaxName && text.find('\n') == std::string::npos;
}

}  // namespace

Value encode_body(const ListenToCablesRequest& request) {
  Value interfaces(Value::List{});
  for (const std::string& one : request.interfaces) interfaces.push_back(one);
  return Value::map({{"request", "listen_to_cables"}, {"interfaces", std::move(interfaces)}, {"token", request.token}});
}

Value encode_body(const CallIntoCablesRequest& request) {
  return Value::map({{"request", "call_into_cables"}, {"node", request.node}});
}

Value encode_body(const HearCablesRequest& /*request*/) { return Value::map({{"request", "hear_cables"}}); }

Value encode(const HearCablesReply& reply) {
  Value calls(Value::List{});
  for (const CableCall& call : reply.calls) {
    calls.push_back(Value::map({{"at", call.at}, {"node", call.node}, {"interface", call.interface}}));
  }
  Value mute = Value::map();
  for (const auto& [interface, why] : reply.mute) mute.set(interface, why);
  return Value::map({{"calls", std::move(calls)}, {"mute", std::move(mute)}});
}

Result<ListenToCablesRequest> decode_listen_to_cables_request(const Value& value) {
  ListenToCablesRequest request;
  request.token = value.text_or("token", "");
  const Value* interfaces = value.find("interfaces");
  if (interfaces == nullptr || interfaces->list_items() == nullptr) return malformed("interfaces");
  for (const Value& one : *interfaces->list_items()) {
    if (one.string() == nullptr || !is_name(*one.string())) return malformed("an interface");
    request.interfaces.push_back(*one.string());
  }
  if (request.interfaces.size() > kMaxInterfaces) return malformed("too many interfaces");
  if (request.token.size() != kTokenLength) return malformed("token");
  return request;
}

Result<CallIntoCablesRequest> decode_call_into_cables_request(const Value& value) {
  CallIntoCablesRequest request{value.text_or("node", "")};
  if (!is_name(request.node)) return malformed("node");
  return request;
}

Result<HearCablesReply> decode_hear_cables_reply(const Value& value) {
  HearCablesReply reply;
  const Value* calls = value.find("calls");
  if (calls == nullptr || calls->list_items() == nullptr) return malformed("calls");
  for (const Value& one : *calls->list_items()) {
    CableCall call{one.text_or("at", ""), one.text_or("node", ""), one.text_or("interface", "")};
    if (!is_name(call.at) || !is_name(call.node) || !is_name(call.interface)) return malformed("a call");
    reply.calls.push_back(std::move(call));
  }
  if (reply.calls.size() > kMaxCalls) return malformed("too many calls");
  const Value* mute = value.find("mute");
  if (mute == nullptr) return reply;
  if (mute->entries() == nullptr || mute->entries()->size() > kMaxInterfaces) return malformed("mute");
  for (const auto& [interface, why, where] : *mute->entries()) {
    if (!is_name(interface) || why.string() == nullptr) return malformed("a mute interface");
    reply.mute[interface] = *why.string();
  }
  return reply;
}

}  // namespace sparkplan
