#include "tests/unit/fleet/trial_bench.h"

#include <deque>
#include <string_view>
#include <utility>

#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

constexpr std::string_view kOwnMachine = "id-n1";

/// Notes a second thread in the same connection.
class Use {
 public:
  explicit Use(ScriptedNode& node) : node_(node) {
    if (++node_.users > 1) node_.used_by_two = true;
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  ~Use() { --node_.users; }

 private:
  ScriptedNode& node_;
};

Value facts_of(const ScriptedNode& node) {
  FactsReply reply;
  reply.facts.live = true;
  reply.facts.machine_id = "id-" + node.name;
  LinkFacts link;
  link.name = "eth1";
  link.mtu = 9000;
  link.addresses = {node.own_address + "/24"};
  reply.facts.links = {link};
  reply.transaction = node.transaction;
  return encode(reply);
}

Value roll_back(ScriptedNode& node) {
  node.transaction->state = TransactionState::kRolledBack;
  node.transaction->undone = true;
  node.transaction->not_restored = node.not_restored;
  return encode(*node.transaction);
}

Result<Value> answer(ScriptedNode& node, const Request& request) {
  if (std::holds_alternative<FactsRequest>(request)) return facts_of(node);
  if (std::holds_alternative<PingRequest>(request)) node.note(node.pings);
  if (std::holds_alternative<LockRequest>(request)) node.when_locked();
  if (const auto* apply = std::get_if<ApplyRequest>(&request)) {
    ++node.trials;
    if (!node.jobs.empty() && !apply->ignore_jobs) return failure(busy_with(node.jobs));
    const bool fails = node.failure.has_value();
    if (!fails || node.left != TransactionState::kBegun) {
      node.transaction = TransactionReport{
          apply->run, fails ? node.left : TransactionState::kArmed, "", 60, !fails, false, false, "", {}, {}};
    }
    if (fails) return failure(*node.failure);
    ApplyReply reply;
    for (const Step& step : apply->steps) reply.results.push_back({step.artifact, StepOutcome::kDone, std::nullopt});
    if (node.last_step_fails) {
      for (StepResult& result : reply.results) result.outcome = StepOutcome::kUndone;
      reply.results.back().outcome = StepOutcome::kFailed;
      reply.results.back().error = make_error(ErrorCode::kFailed, "no such device");
      reply.not_restored = node.not_restored;
    }
    return encode(reply);
  }
  if (std::holds_alternative<TransactionRequest>(request))
    return encode_body(Result<TransactionRequest::Reply>(node.transaction));
  if (const auto* probe = std::get_if<ProbeRequest>(&request)) {
    ProbeReply reply;
    for (const ProbeTarget& target : probe->targets) {
      node.probed.push_back(target);
      reply.answered.push_back(node.reaches(target));
    }
    return encode(reply);
  }
  if (std::holds_alternative<ExtendRequest>(request)) {
    node.note(node.extensions);
    return encode(*node.transaction);
  }
  if (std::holds_alternative<ConfirmRequest>(request)) {
    if (node.undoes_before_confirmation) return roll_back(node);
    node.transaction->state = TransactionState::kCommitted;
    return encode(*node.transaction);
  }
  if (std::holds_alternative<RollBackRequest>(request)) {
    Value rolled_back = roll_back(node);
    if (node.answers_rollback) return rolled_back;
    return failure(ErrorCode::kInterrupted, "the answer was lost");
  }
  return Value::map();
}

class ScriptedChannel final : public Channel {
 public:
  explicit ScriptedChannel(ScriptedNode& node) : node_(node), output_(kPreamble) {
    say(encode(Hello{kProtocolMajor, kProtocolMinor, "build", "x86_64", {}}));
  }

  Result<std::size_t> read_some(std::string& into, std::chrono::milliseconds) override {
    const Use use(node_);
    if (node_.cut || output_.empty()) return failure(ErrorCode::kUnreachable, "the connection broke");
    into += output_;
    return std::exchange(output_, "").size();
  }
  Result<void> write_all(std::string_view bytes, std::chrono::milliseconds patience) override {
    const Use use(node_);
    node_.patience = patience;
    if (node_.cut) return failure(ErrorCode::kUnreachable, "the connection broke");
    reader_.feed(bytes);
    while (true) {
      SPARK_TRY(const auto message, reader_.next());
      if (!message) return {};
      SPARK_TRY(const auto request, decode_request(*message));
      say(encode(NumberedReply{request.id, answer(node_, request.request)}));
    }
  }
  void close_input() override {}
  std::optional<int> exit_status() override { return std::nullopt; }
  const std::string& standard_error() const override { return standard_error_; }

 private:
  void say(const Value& message) { output_ += encode_frame(message).value_or(""); }

  ScriptedNode& node_;
  FrameReader reader_;
  std::string output_;
  std::string standard_error_;
};

class ScriptedConnection final : public Connection {
 public:
  explicit ScriptedConnection(ScriptedNode& node) : node_(node), is_other_(++node.connections == node.other_machine) {}
  Result<std::unique_ptr<Channel>> start(RemoteProgram, Elevation) override {
    return std::make_unique<ScriptedChannel>(node_);
  }
  std::string host_key() const override { return "SHA256:" + (is_other_ ? "other" : node_.name); }

 private:
  ScriptedNode& node_;
  bool is_other_;
};

/// The steps of the trial come from the test.
class NoPlans final : public Planning {
 public:
  using Planning::Planning;
  void plan() override {
    session_.open();
    begin();
  }
  void observe_again() override {}
  void make_plans() override {}
  void check_others_unchanged() override {}
  std::string why_not_shown(PlannedNode&, const TrialSteps&, std::chrono::steady_clock::time_point) override {
    return "";
  }
  std::map<ResourceId, ManagedResource> managed_after(const PlannedNode&) const override { return {}; }
  std::string undone_run(const PlannedNode&) const override { return ""; }
  bool rolls_back() const override { return false; }
};

}  // namespace

TrialBench::TrialBench(int nodes) {
  cluster_.name = "lab";
  for (int id = 1; id <= nodes; ++id) {
    const std::string name = "n" + std::to_string(id);
    NodeSpec spec{
        *NodeName::parse(name), id, "10.0.0." + std::to_string(id), {}, TransportKind::kSsh, {}, false, {}, {}, {}};
    spec.ssh.user = "root";
    FabricPort port;
    port.interface = "eth1";
    port.address = "192.168.100." + std::to_string(id);
    port.prefix_length = 24;
    spec.fabric = {port};
    cluster_.nodes.push_back(std::move(spec));
    auto& node = scripts_[name] = std::make_unique<ScriptedNode>();
    node->name = name;
    node->own_address = port.address;
  }
}

RunOptions TrialBench::run_options() {
  RunOptions options;
  options.heartbeat = std::chrono::milliseconds(1);
  options.agent.install = InstallPolicy::kNever;
  options.selection = Selection({}, excluded);
  options.agent.connector = [this](const NodeSpec& spec, const ConnectOptions&) -> Result<std::unique_ptr<Connection>> {
    return std::make_unique<ScriptedConnection>(node(spec.name.str()));
  };
  return options;
}

bool TrialBench::is_heard_during_lock_of_last() {
  const Registry registry{{}};
  auto options = run_options();
  options.workers = 1;
  FleetSession session(cluster_, registry, options);
  NoPlans planning(session);
  planning.plan();
  bool heard = true;
  ScriptedNode& last = *scripts_.rbegin()->second;
  last.when_locked = [&] {
    for (auto& [name, script] : scripts_) heard = heard && (script.get() == &last || script->is_pinged(3));
  };
  return session.lock_all(std::chrono::milliseconds(0)) && heard;
}

bool TrialBench::is_heard_during_work_on_first() {
  const Registry registry{{}};
  FleetSession session(cluster_, registry, run_options());
  NoPlans planning(session);
  planning.plan();
  REQUIRE(session.lock_all(std::chrono::milliseconds(0)));
  std::atomic<bool> heard = true;
  session.compute_each(planning.nodes(), [&](PlannedNode& planned) {
    if (planned.node.name() != "n1") return;
    for (auto& [name, script] : scripts_) {
      if (name != "n1" && !script->is_pinged(1)) heard = false;
    }
  });
  return heard;
}

Trial::State TrialBench::carry_out() {
  const Registry registry{{}};
  FleetSession session(cluster_, registry, run_options());
  NoPlans planning(session);
  planning.plan();
  REQUIRE_FALSE(session.any_error());
  REQUIRE(session.lock_all(std::chrono::milliseconds(0)));
  std::deque<ApplyNode> applied;
  for (PlannedNode& planned : planning.nodes()) applied.emplace_back(planned);
  TrialRun trial(planning, applied,
                 {window, 0, [](const FleetNode&) { return Roster{}; }, ignore_jobs,
                  [](const std::string& machine_id) { return machine_id == kOwnMachine; }});
  const FleetNode& first = session.nodes().front();
  const auto add = [&](int begin, int end) {
    for (int place = begin; place < end; ++place) {
      std::vector<Step> of_node;
      for (int i = 0; i < steps; ++i) {
        const std::string name = "eth" + std::to_string(i);
        of_node.push_back({"link", {"link", name}, Phase::kNetwork, Absent{}, Absent{}, {{"link", name}}, {}, "net"});
      }
      trial.add(session.nodes()[static_cast<std::size_t>(place)], std::move(of_node));
    }
  };
  add(0, changing);
  for (const FleetNode& one : session.nodes()) {
    if (one.name() == held) trial.refuse(one, busy_with({kTraining}));
  }
  trial.carry_out();
  if (changing_later > 0) {
    add(changing, changing + changing_later);
    trial.carry_out();
  }
  session.keep_alive(session.nodes().front());
  patience = node("n1").patience;
  for (const FleetNode& one : session.nodes()) states[one.name()] = trial.at(one).trial.state;
  for (const FleetNode& one : session.nodes()) {
    if (one.error) failed.push_back(one.name());
  }
  why_not = trial.at(first).trial.why_not;
  error = first.error ? first.error->describe() : "";
  deferred = trial.at(first).deferred;
  may_have_changed = planning.nodes().front().outcomes.may_have_changed();
  return trial.at(first).trial.state;
}

}  // namespace sparkplan::test
