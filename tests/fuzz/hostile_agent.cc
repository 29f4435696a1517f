#include "tests/fuzz/hostile_agent.h"

#include <utility>

#include "engine/resource/registry.h"
#include "engine/wire/frame.h"
#include "engine/wire/messages.h"
#include "engine/wire/nccl_messages.h"
#include "tests/fuzz/hostile_value.h"

namespace sparkplan::fuzz {
namespace {

/// The state of one node, shared by all its connections; `choices` decides its replies.
struct Peer {
  const CaseMachines& machines;
  std::string name;
  std::string share;
  Choices choices;

  Peer(const CaseMachines& all, std::string node, std::string bytes)
      : machines(all), name(std::move(node)), share(std::move(bytes)), choices(share) {}
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
};

UndoReply undo_of(const CaseMachines& machines) {
  UndoReply reply;
  reply.run = "run-1";
  reply.who = "anna@laptop";
  reply.operation = "apply";
  for (const auto& [id, artifact] : machines.world.manifest.artifacts) {
    const auto at = machines.world.manifest.resources.lower_bound({artifact.type, ""});
    if (at == machines.world.manifest.resources.end() || at->first.type != artifact.type) continue;
    Step step;
    step.type = artifact.type;
    step.artifact = id;
    step.after = artifact.original;
    step.resources = {at->first};
    step.group = at->first.str();
    reply.steps.push_back(std::move(step));
    reply.managed_before[at->first] = std::nullopt;
  }
  reply.kept.push_back({"sysctl", {"file", "/etc/x"}, {{"sysctl", "vm.swappiness"}}, "it was changed since"});
  return reply;
}

HistoryReply history(bool with_artifacts) {
  JournaledRun run;
  run.run = "run-1";
  run.time = "2026-03-01T12:00:00Z";
  run.who = "anna@laptop";
  run.operation = "apply";
  run.changes = 2;
  if (with_artifacts) run.artifacts.push_back({"sysctl", {"file", "/etc/sysctl.d/90-sparkplan.conf"}, "done", ""});
  return {{run}, {{"run-0.jsonl", Error{ErrorCode::kInvalidInput, "line 3 is none", {}, {}, ""}}}};
}

ApplyReply applied(const ApplyRequest& request) {
  ApplyReply reply;
  for (const Step& step : request.steps) reply.results.push_back({step.artifact, StepOutcome::kDone, std::nullopt});
  return reply;
}

/// Returns the reply of an honest agent.
Value honest_answer(const Request& request, const Peer& peer) {
  if (std::holds_alternative<FactsRequest>(request)) return peer.machines.facts_replies.at(peer.name);
  if (std::holds_alternative<ObserveNodeRequest>(request)) return peer.machines.observed;
  if (const auto* apply = std::get_if<ApplyRequest>(&request)) return encode(applied(*apply));
  if (std::holds_alternative<EffectRequest>(request)) return encode(EffectReply{});
  if (std::holds_alternative<ForesightRequest>(request)) return encode(EffectReply{});
  if (const auto* asked = std::get_if<HistoryRequest>(&request)) return encode(history(asked->with_artifacts));
  if (std::holds_alternative<UndoRequest>(request)) return encode(undo_of(peer.machines));
  if (std::holds_alternative<OpenReceiverRequest>(request)) return encode(OpenReceiverReply{40'000, 40'001});
  if (std::holds_alternative<CloseReceiverRequest>(request)) return encode(CloseReceiverReply{{84, 1500, 9000}});
  if (std::holds_alternative<MeasureTcpRequest>(request)) {
    return encode(MeasureTcpReply{TcpOutcome::kDone, "", 1'000'000'000, 500'000'000});
  }
  if (const auto* logins = std::get_if<SshLoginRequest>(&request)) {
    return encode(SshLoginReply{std::vector<SshLoginReply::Login>(logins->targets.size(), {true, ""})});
  }
  if (const auto* probe = std::get_if<ProbeRequest>(&request)) {
    return encode(ProbeReply{std::vector<bool>(probe->targets.size(), true)});
  }
  if (const auto* values = std::get_if<MeasurementsRequest>(&request)) {
    MeasurementsReply reply;
    for (const auto& [id, value] : values->values) reply.earlier[id] = {value, value * 2, value * 3};
    return encode(reply);
  }
  if (std::holds_alternative<MeasurementHistoryRequest>(request)) {
    return encode(MeasurementHistoryReply{{{1, "20260301T120000Z-4f9a1c07", {{"kernel", "6.14"}}}},
                                          {{"tcp/spark-01/spark-02/A", {{3, 2, 1}, {0, 1, 1}}}}});
  }
  if (std::holds_alternative<ReadLinkProbesRequest>(request)) {
    return encode(ReadLinkProbesReply{{{"enp1s0f1np1", "spark-02", "enp1s0f1np1"}}, {}});
  }
  if (std::holds_alternative<ReadStorageRequest>(request)) {
    return encode(ReadStorageReply{"", "", "/mnt/models/a", 1 << 28, 100'000'000, true});
  }
  if (std::holds_alternative<GpuErrorsRequest>(request)) {
    return encode(GpuErrorsReply{1, {{79, "NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus."}}, true});
  }
  if (std::holds_alternative<RdmaOpenRequest>(request)) return encode(RdmaEndpoint{});
  if (const auto* write = std::get_if<RdmaWriteRequest>(&request)) {
    return encode(RdmaWriteReply{std::vector<Result<RdmaWritten>>(write->sessions.size(), RdmaWritten{})});
  }
  if (std::holds_alternative<RdmaLatencyRequest>(request)) return encode(RdmaLatencyReply{1000, 2000, 3000});
  if (std::holds_alternative<RdmaCountersRequest>(request)) return encode(RdmaCountersReply{});
  return Value::map();
}

Value honest_answer(const RankCommand& command) {
  if (std::holds_alternative<PrepareRank>(command)) {
    const std::string id(128, 'i');
    return encode(RankAnswer(PreparedRank{22'809, "/lib/libnccl.so.2", 13'000, "NVIDIA GB10", 1 << 30, true, id, {}}));
  }
  if (std::holds_alternative<JoinRank>(command)) return encode(RankAnswer(JoinedRank{}));
  if (const auto* run = std::get_if<RunCollective>(&command)) {
    return encode(RankAnswer(CollectiveResult{run->bytes, 0.001, 0, "", {}}));
  }
  if (const auto* measure = std::get_if<MeasureGpus>(&command)) {
    GpuReport gpu;
    gpu.name = "NVIDIA GB10";
    gpu.bus = "0000:01:00.0";
    // A program would keep ranks away from the node.
    if (measure->load_ms > 0) gpu.processes = {{1, "python3"}};
    gpu.load = GpuLoad{10, 2400, 80, 70, 75, 0, 0, 28, 218, 1 << 28, 0};
    return encode(RankAnswer(MeasuredGpus{"580.95.05", 13'000, "", {gpu}}));
  }
  return Value();
}

std::string hello_of_agent() {
  Hello hello{kProtocolMajor, kProtocolMinor, "0123", "aarch64", {}};
  for (const auto& type : builtin_registry().types()) hello.types.push_back(type->info().name);
  return std::string(kPreamble) + encode_frame(encode(hello)).value_or("");
}

std::string hello_of_rank() {
  return std::string(kPreamble) + encode_frame(encode(RankAnswer(RankHello{"0123", "aarch64"}))).value_or("");
}

class HostileChannel final : public Channel {
 public:
  HostileChannel(std::shared_ptr<Peer> peer, RemoteProgram program) : peer_(std::move(peer)), program_(program) {
    if (program == RemoteProgram::kAgent) say(hello_of_agent());
    if (program == RemoteProgram::kNcclRank) say(hello_of_rank());
    if (lies(16)) standard_error_ = hostile_text(peer_->choices);
  }

  Result<std::size_t> read_some(std::string& into, std::chrono::milliseconds /*patience*/) override {
    if (output_.empty()) return failure(ErrorCode::kNotFound, "end of stream");
    const auto size = output_.size();
    into += std::exchange(output_, "");
    return size;
  }
  Result<void> write_all(std::string_view bytes, std::chrono::milliseconds /*deadline*/) override {
    if (lies(64)) return failure(ErrorCode::kUnreachable, "it takes no more input");
    reader_.feed(bytes);
    while (true) {
      const auto message = reader_.next();
      if (!message || !*message) return {};
      program_ == RemoteProgram::kNcclRank ? answer_as_rank(**message) : answer_as_agent(**message);
    }
  }
  void close_input() override {}
  std::optional<int> exit_status() override { return peer_->choices.byte(); }
  const std::string& standard_error() const override { return standard_error_; }

 private:
  bool lies(std::size_t one_in) { return !peer_->choices.empty() && peer_->choices.byte() % one_in == 1; }

  void say(std::string bytes) {
    if (lies(32)) spoil(bytes, peer_->choices);
    output_ += bytes;
  }
  void send(Value message) {
    if (lies(2)) spoil(message, peer_->choices);
    if (const auto frame = encode_frame(message)) say(*frame);
  }
  void answer_as_agent(const Value& message) {
    const auto request = decode_request(message);
    if (!request || std::holds_alternative<StopNotice>(request->request)) return;
    if (lies(32)) send(encode_progress(request->id, hostile_text(peer_->choices)));
    NumberedReply reply{request->id, honest_answer(request->request, *peer_)};
    if (lies(32)) {
      const auto code = static_cast<ErrorCode>(peer_->choices.below(static_cast<std::size_t>(ErrorCode::kBug) + 1));
      reply.body = failure(code, hostile_text(peer_->choices), hostile_text(peer_->choices));
    } else if (lies(2)) {
      spoil(*reply.body, peer_->choices);
    }
    if (const auto frame = encode_frame(encode(reply))) say(*frame);
  }
  void answer_as_rank(const Value& message) {
    if (const auto command = decode<RankCommand>(message)) send(honest_answer(*command));
  }

  std::shared_ptr<Peer> peer_;
  RemoteProgram program_;
  FrameReader reader_;
  std::string output_;
  std::string standard_error_;
};

class HostileConnection final : public Connection {
 public:
  explicit HostileConnection(std::shared_ptr<Peer> peer) : peer_(std::move(peer)) {}
  Result<std::unique_ptr<Channel>> start(RemoteProgram program, Elevation /*elevation*/) override {
    return std::make_unique<HostileChannel>(peer_, program);
  }
  std::string host_key() const override { return "SHA256:" + peer_->name; }

 private:
  std::shared_ptr<Peer> peer_;
};

}  // namespace

HostileAgents::HostileAgents(const CaseMachines& machines, const Choices& choices) : machines_(machines) {
  const auto& nodes = machines.world.cluster.nodes;
  for (std::size_t i = 0; i < nodes.size(); ++i) shares_[nodes[i].name.str()] = choices.share(i, nodes.size());
}

AgentOptions HostileAgents::options() const {
  AgentOptions options;
  auto peers = std::make_shared<std::map<std::string, std::shared_ptr<Peer>>>();
  for (const auto& [name, share] : shares_) peers->emplace(name, std::make_shared<Peer>(machines_, name, share));
  options.connector = [peers](const NodeSpec& node, const ConnectOptions&) -> Result<std::unique_ptr<Connection>> {
    // A node that is only listed in a roster has no machine.
    const auto peer = peers->find(node.name.str());
    if (peer == peers->end()) return failure(ErrorCode::kUnreachable, "no such machine");
    return std::make_unique<HostileConnection>(peer->second);
  };
  options.install = InstallPolicy::kIfNeeded;
  options.reply_timeout = std::chrono::seconds(1);
  return options;
}

}  // namespace sparkplan::fuzz
