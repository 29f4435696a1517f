#include "engine/wire/messages.h"

#include <set>
#include <utility>

#include "engine/core/bounded_text.h"

namespace sparkplan {
namespace {

tl::unexpected<Error> malformed(std::string_view what) {
  return failure(ErrorCode::kInvalidInput, "malformed message: " + std::string(what));
}

Result<std::vector<std::string>> decode_names(const Value* value) {
  if (value == nullptr || value->list_items() == nullptr) return malformed("a list of names is missing");
  std::vector<std::string> names;
  for (const auto& item : *value->list_items()) {
    if (item.string() == nullptr) return malformed("a name is no text");
    names.push_back(*item.string());
  }
  return names;
}

Value encode_names(const std::vector<std::string>& names) {
  Value::List items;
  for (const auto& name : names) items.emplace_back(name);
  return Value(std::move(items));
}

Value encode_values(const std::map<ResourceId, Value>& values) {
  Value all = Value::map();
  for (const auto& [id, value] : values) all.set(id.str(), value);
  return all;
}

Result<std::map<ResourceId, Value>> decode_values(const Value* value) {
  if (value == nullptr || !value->is_map()) return malformed("after_steps");
  std::map<ResourceId, Value> values;
  for (const auto& [key, body, where] : *value->entries()) {
    SPARK_TRY(auto id, ResourceId::parse(key));
    values.emplace(std::move(id), body);
  }
  return values;
}

Value encode_managed(const std::map<ResourceId, ManagedResource>& resources) {
  Value all = Value::map();
  for (const auto& [id, managed] : resources) {
    Value::List artifacts;
    for (const auto& artifact : managed.artifacts) artifacts.emplace_back(artifact.str());
    all.set(id.str(), Value::map({{"last_applied", managed.last_applied}, {"artifacts", Value(std::move(artifacts))}}));
  }
  return all;
}

Result<std::map<ResourceId, ManagedResource>> decode_managed(const Value* value) {
  if (value == nullptr || !value->is_map()) return malformed("resources");
  std::map<ResourceId, ManagedResource> resources;
  for (const auto& [key, body, where] : *value->entries()) {
    SPARK_TRY(auto id, ResourceId::parse(key));
    const auto* last_applied = body.find("last_applied");
    if (last_applied == nullptr) return malformed("last_applied");
    ManagedResource managed{*last_applied, {}};
    SPARK_TRY(const auto names, decode_names(body.find("artifacts")));
    for (const auto& name : names) {
      SPARK_TRY(auto artifact, ArtifactId::parse(name));
      managed.artifacts.push_back(std::move(artifact));
    }
    resources.emplace(std::move(id), std::move(managed));
  }
  return resources;
}

Value encode_body(const FactsRequest& request) {
  Value exports = Value::map();
  for (const auto& [type, section] : request.exports) exports.set(type, section);
  Value body = Value::map(
      {{"request", "facts"}, {"exports", std::move(exports)}, {"set_damaged_aside", request.set_damaged_aside}});
  if (request.observe_managed) body.set("observe_managed", true);
  if (request.everything) body.set("everything", true);
  return body;
}
Value encode_body(const ObserveNodeRequest& request) {
  Value names = Value::map();
  for (const auto& [type, list] : request.names) names.set(type, encode_names(list));
  return Value::map({{"request", "observe"}, {"names", std::move(names)}});
}
Value encode_body(const LockRequest& request) {
  return Value::map({{"request", "lock"},
                     {"holder", encode(request.holder)},
                     {"saved_plan", request.purpose.saved_plan},
                     {"undoes", request.purpose.undoes}});
}
Value encode_body(const ApplyRequest& request) {
  Value::List steps;
  for (const auto& step : request.steps) steps.push_back(encode(step));
  return Value::map({{"request", "apply"},
                     {"run", request.run},
                     {"node", request.node},
                     {"roster", encode(request.roster)},
                     {"steps", Value(std::move(steps))},
                     {"after_steps", encode_values(request.after_steps)},
                     {"window_seconds", request.window_seconds}});
}
Value encode_body(const EffectRequest& request) {
  Value desired = Value::map();
  for (const auto& [type, values] : request.desired) {
    Value by_name = Value::map();
    for (const auto& [name, value] : values) by_name.set(name, value);
    desired.set(type, std::move(by_name));
  }
  return Value::map({{"request", "effect"}, {"desired", std::move(desired)}});
}
Value encode_body(const CommitRequest& request) {
  return Value::map({{"request", "commit"},
                     {"run", request.run},
                     {"node", request.node},
                     {"roster", encode(request.roster)},
                     {"resources", encode_managed(request.resources)},
                     {"audit", request.audit}});
}
Value encode_body(const ReleaseRequest& request) {
  return Value::map({{"request", "release"}, {"audit", request.audit}});
}
Value encode_body(const UnlockRequest&) { return Value::map({{"request", "unlock"}}); }
Value encode_body(const PingRequest&) { return Value::map({{"request", "ping"}}); }
Value encode_body(const StopNotice&) { return Value::map({{"request", "stop"}}); }

Result<Request> decode_facts_request(const Value& value) {
  const auto* exports = value.find("exports");
  if (exports == nullptr || !exports->is_map()) return malformed("exports");
  FactsRequest request;
  request.set_damaged_aside = value.boolean_or("set_damaged_aside", false);
  request.observe_managed = value.boolean_or("observe_managed", false);
  request.everything = value.boolean_or("everything", false);
  for (const auto& [type, section, where] : *exports->entries()) request.exports.emplace(type, section);
  return Request(std::move(request));
}

Result<Request> decode_observe_request(const Value& value) {
  const auto* names = value.find("names");
  if (names == nullptr || !names->is_map()) return malformed("names");
  ObserveNodeRequest request;
  for (const auto& [type, list, where] : *names->entries()) {
    SPARK_TRY(request.names[type], decode_names(&list));
  }
  return Request(std::move(request));
}

Result<Request> decode_effect_request(const Value& value) {
  const auto* desired = value.find("desired");
  if (desired == nullptr || !desired->is_map()) return malformed("desired");
  EffectRequest request;
  for (const auto& [type, values, where] : *desired->entries()) {
    if (!values.is_map()) return malformed("desired");
    for (const auto& [name, wanted, place] : *values.entries()) request.desired[type].emplace(name, wanted);
  }
  return Request(std::move(request));
}

Result<Request> decode_lock_request(const Value& value) {
  const auto* holder = value.find("holder");
  if (holder == nullptr) return malformed("holder");
  SPARK_TRY(auto decoded, decode_lock_holder(*holder));
  return Request(LockRequest{std::move(decoded), {value.text_or("saved_plan", ""), value.text_or("undoes", "")}});
}

Result<Request> decode_apply_request(const Value& value) {
  const auto* steps = value.find("steps");
  const auto* roster = value.find("roster");
  if (steps == nullptr || steps->list_items() == nullptr || roster == nullptr) return malformed("apply");
  ApplyRequest request{
      value.text_or("run", ""), value.text_or("node", ""), {}, {}, {}, value.integer_or("window_seconds", 0)};
  constexpr std::int64_t kLongestWindow = 3600;
  if (request.window_seconds < 0 || request.window_seconds > kLongestWindow) return malformed("window_seconds");
  SPARK_TRY(request.after_steps, decode_values(value.find("after_steps")));
  SPARK_TRY(request.roster, decode_roster(*roster));
  for (const auto& item : *steps->list_items()) {
    SPARK_TRY(auto step, decode_step(item));
    request.steps.push_back(std::move(step));
  }
  return Request(std::move(request));
}

Result<Request> decode_commit_request(const Value& value) {
  const auto* roster = value.find("roster");
  if (roster == nullptr) return malformed("commit");
  CommitRequest request{value.text_or("run", ""), value.text_or("node", ""), {}, {}, value.text_or("audit", "")};
  SPARK_TRY(request.roster, decode_roster(*roster));
  SPARK_TRY(request.resources, decode_managed(value.find("resources")));
  return Request(std::move(request));
}

template <class Kind>
Result<Request> as_request(Result<Kind> decoded) {
  return std::move(decoded).map([](Kind request) { return Request(std::move(request)); });
}

/// A field that we do not know may be a condition that the controller relies on.
Result<void> check_fields(const Value& value, std::string_view name) {
  static const std::map<std::string_view, std::set<std::string_view>> kFields{
      {"facts", {"exports", "set_damaged_aside", "observe_managed", "everything"}},
      {"observe", {"names"}},
      {"effect", {"desired"}},
      {"lock", {"holder", "saved_plan", "undoes"}},
      {"apply", {"run", "node", "roster", "steps", "after_steps", "window_seconds"}},
      {"commit", {"run", "node", "roster", "resources", "audit"}},
      {"release", {"audit"}},
      {"rdma_open", {"device", "port", "interface", "address", "queue_pairs", "message_bytes", "depth"}},
      {"rdma_connect", {"session", "peer"}},
      {"rdma_write", {"sessions", "duration_ms"}},
      {"rdma_latency", {"session", "begins", "iterations"}},
      {"rdma_counters", {"device", "port", "interface"}},
      {"rdma_close", {"sessions"}},
      {"confirm", {"run"}},
      {"roll_back", {"run", "reason"}},
      {"extend", {"run", "seconds"}},
      {"probe", {"targets", "patience_ms"}},
      {"history", {"with_artifacts"}},
      {"undo", {"run"}},
      {"break_lock", {"holder", "audit"}},
      {"open_ear", {"at", "peer", "token"}},
      {"close_ear", {"awaited", "patience_ms"}},
      {"send_datagrams", {"from", "address", "port", "token", "sizes"}},
      {"measure_tcp", {"from", "address", "port", "token", "streams", "duration_ms"}},
      {"listen_to_cables", {"interfaces", "token"}},
      {"call_into_cables", {"node"}},
      {"hear_cables", {}},
      {"ssh_login", {"user", "targets"}},
      {"measurements", {"values"}},
      {"read_storage", {"target"}},
  };
  if (!value.is_map()) return malformed("a request is no map");
  const auto known = kFields.find(name);
  for (const auto& entry : *value.entries()) {
    const bool common = entry.key == "request" || entry.key == "id";
    if (common || (known != kFields.end() && known->second.count(entry.key) > 0)) continue;
    return failure(ErrorCode::kInvalidInput,
                   "a request of kind " + shown_text(name) + " has no field " + shown_text(entry.key));
  }
  return {};
}

}  // namespace

std::string LockHolder::describe() const {
  return who + " (process " + std::to_string(pid) + ", " + operation + " since " + since + ")";
}

Value encode(const Hello& hello) {
  return Value::map({{"hello", Value::map({{"protocol_major", hello.protocol_major},
                                           {"protocol_minor", hello.protocol_minor},
                                           {"build", hello.build},
                                           {"architecture", hello.architecture},
                                           {"types", encode_names(hello.types)}})}});
}

Result<Hello> decode_hello(const Value& value) {
  const auto* body = value.find("hello");
  if (body == nullptr || !body->is_map()) return malformed("hello");
  Hello hello{body->integer_or("protocol_major", 0),
              body->integer_or("protocol_minor", 0),
              cut_text(body->text_or("build", ""), kLongestShortText),
              cut_text(body->text_or("architecture", ""), kLongestShortText),
              {}};
  // An agent of another major is told apart by its number alone.
  if (body->find("types") != nullptr) {
    SPARK_TRY(hello.types, decode_names(body->find("types")));
  }
  return hello;
}

Value encode(const LockHolder& holder) {
  return Value::map(
      {{"who", holder.who}, {"pid", holder.pid}, {"operation", holder.operation}, {"since", holder.since}});
}

Result<LockHolder> decode_lock_holder(const Value& value) {
  if (!value.is_map()) return malformed("lock holder");
  const auto text = [&](std::string_view key) { return cut_text(value.text_or(key, ""), kLongestShortText); };
  return LockHolder{text("who"), value.integer_or("pid", 0), text("operation"), text("since")};
}

Value encode(const NumberedRequest& numbered) {
  Value body = std::visit([](const auto& request) { return encode_body(request); }, numbered.request);
  body.set("id", numbered.id);
  return body;
}

Result<NumberedRequest> decode_request(const Value& value) {
  const auto name = value.text_or("request", "");
  const auto id = value.integer_or("id", 0);
  Result<Request> request = malformed("there is no request \"" + shown_text(name) + "\"");
  if (name == "facts") request = decode_facts_request(value);
  if (name == "observe") request = decode_observe_request(value);
  if (name == "effect") request = decode_effect_request(value);
  if (name == "lock") request = decode_lock_request(value);
  if (name == "apply") request = decode_apply_request(value);
  if (name == "commit") request = decode_commit_request(value);
  if (name == "release") request = Request(ReleaseRequest{value.text_or("audit", "")});
  if (name == "rdma_open") request = as_request(decode_rdma_open_request(value));
  if (name == "rdma_connect") request = as_request(decode_rdma_connect_request(value));
  if (name == "rdma_write") request = as_request(decode_rdma_write_request(value));
  if (name == "rdma_latency") request = as_request(decode_rdma_latency_request(value));
  if (name == "rdma_counters") request = as_request(decode_rdma_counters_request(value));
  if (name == "rdma_close") request = as_request(decode_rdma_close_request(value));
  if (name == "transaction") request = Request(TransactionRequest{});
  if (name == "confirm") request = Request(ConfirmRequest{value.text_or("run", "")});
  if (name == "roll_back") request = Request(RollBackRequest{value.text_or("run", ""), value.text_or("reason", "")});
  if (name == "extend") request = Request(ExtendRequest{value.text_or("run", ""), value.integer_or("seconds", 0)});
  if (name == "probe") request = as_request(decode_probe_request(value));
  if (name == "open_ear") request = as_request(decode_open_ear_request(value));
  if (name == "close_ear") request = as_request(decode_close_ear_request(value));
  if (name == "send_datagrams") request = as_request(decode_send_datagrams_request(value));
  if (name == "measure_tcp") request = as_request(decode_measure_tcp_request(value));
  if (name == "listen_to_cables") request = as_request(decode_listen_to_cables_request(value));
  if (name == "call_into_cables") request = as_request(decode_call_into_cables_request(value));
  if (name == "hear_cables") request = Request(HearCablesRequest{});
  if (name == "ssh_login") request = as_request(decode_ssh_login_request(value));
  if (name == "measurements") request = as_request(decode_measurements_request(value));
  if (name == "read_storage") request = as_request(decode_read_storage_request(value));
  if (name == "history") request = Request(HistoryRequest{value.boolean_or("with_artifacts", false)});
  if (name == "undo") request = Request(UndoRequest{value.text_or("run", "")});
  if (name == "break_lock")
    request = Request(BreakLockRequest{value.text_or("holder", ""), value.text_or("audit", "")});
  if (name == "unlock") request = Request(UnlockRequest{});
  if (name == "ping") request = Request(PingRequest{});
  if (name == "stop") request = Request(StopNotice{});
  if (!request) return failure(std::move(request).error());
  SPARK_CHECK(check_fields(value, name));
  return NumberedRequest{id, std::move(*request)};
}

Value encode_progress(std::int64_t id, std::string_view doing) { return Value::map({{"id", id}, {"progress", doing}}); }

std::optional<std::string> progress_in(const Value& message) {
  const auto* progress = message.find("progress");
  return progress == nullptr || progress->string() == nullptr ? std::nullopt : std::optional(*progress->string());
}

Value encode(const NumberedReply& reply) {
  Value value = Value::map({{"id", reply.id}});
  if (reply.body) {
    value.set("reply", *reply.body);
  } else {
    value.set("error", encode(reply.body.error()));
  }
  return value;
}

Result<NumberedReply> decode_reply(Value value) {
  const auto id = value.integer_or("id", -1);
  if (id < 0) return malformed("a reply without a number");
  if (const auto* error = value.find("error")) {
    SPARK_TRY(auto decoded, decode_error(*error));
    return NumberedReply{id, tl::unexpected<Error>(std::move(decoded))};
  }
  auto* body = value.find("reply");
  if (body == nullptr) return malformed("a reply without a body");
  return NumberedReply{id, std::move(*body)};
}

}  // namespace sparkplan
