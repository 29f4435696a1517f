// Commit-confirm: no thread uses the connection of another thread's node.
#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>

#include "engine/fleet/apply/trial_run.h"
#include "tests/support/catch.h"

namespace sparkplan {
namespace {

constexpr std::string_view kOwnMachine = "id-n1";

/// A node as its agent answers. Each node's connection has one thread at a time.
struct ScriptedNode {
  std::string name;
  std::string own_address;
  std::optional<TransactionReport> transaction;
  std::function<bool(const ProbeTarget&)> reaches = [](const ProbeTarget&) { return true; };
  std::vector<ProbeTarget> probed;
  std::vector<RunningJob> jobs;  ///< The jobs that its agent finds when a trial is to begin.
  int trials = 0;                ///< How often a trial was to begin.
  std::atomic<bool> cut{false};  ///< The connection breaks.
  std::atomic<int> users{0};     ///< Threads that are in a call now.
  std::atomic<bool> used_by_two{false};

  /// Waits until the agent was pinged that many times more; false after twenty seconds.
  bool is_pinged(int times) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, std::chrono::seconds(20), [&, until = pings + times] { return pings >= until; });
  }
  /// Waits until its window has begun again; false after twenty seconds.
  bool is_extended() {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, std::chrono::seconds(20), [&] { return extensions > 0; });
  }
  void note(int& what) {
    const std::lock_guard lock(mutex);
    ++what;
    changed.notify_all();
  }

  std::mutex mutex;
  std::condition_variable changed;
  int pings = 0;
  int extensions = 0;
};

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

Result<Value> answer(ScriptedNode& node, const Request& request) {
  if (std::holds_alternative<FactsRequest>(request)) return facts_of(node);
  if (std::holds_alternative<PingRequest>(request)) node.note(node.pings);
  if (const auto* apply = std::get_if<ApplyRequest>(&request)) {
    ++node.trials;
    if (!node.jobs.empty() && !apply->ignore_jobs) return failure(busy_with(node.jobs));
    node.transaction = TransactionReport{apply->run, TransactionState::kArmed, "", 60, true, false, false, "", {}};
    ApplyReply reply;
    for (const Step& step : apply->steps) reply.results.push_back({step.artifact, StepOutcome::kDone, std::nullopt});
    return encode(reply);
  }
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
    node.transaction->state = TransactionState::kCommitted;
    return encode(*node.transaction);
  }
  if (std::holds_alternative<RollBackRequest>(request)) {
    node.transaction->state = TransactionState::kRolledBack;
    node.transaction->undone = true;
    return encode(*node.transaction);
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
  Result<void> write_all(std::string_view bytes, std::chrono::milliseconds) override {
    const Use use(node_);
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
  explicit ScriptedConnection(ScriptedNode& node) : node_(node) {}
  Result<std::unique_ptr<Channel>> start(RemoteProgram, Elevation) override {
    return std::make_unique<ScriptedChannel>(node_);
  }
  std::string host_key() const override { return "SHA256:" + node_.name; }

 private:
  ScriptedNode& node_;
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

const RunningJob kTraining{"20260301T120000Z-4f9a1c07", "nvidia", 4242, "2026-03-01T12:00:00Z", "anna@laptop", "train"};

/// n1 is the controller's own machine and has a disruptive step; the others only take part, unless the case says more.
class TrialBench {
 public:
  explicit TrialBench(int nodes) {
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

  ScriptedNode& node(const std::string& name) { return *scripts_.at(name); }

  /// Carries out the trial. Returns how far n1 is, and notes why its change is not kept.
  Trial::State carry_out() {
    RunOptions options;
    options.heartbeat = std::chrono::milliseconds(1);
    options.agent.install = InstallPolicy::kNever;
    options.selection = Selection({}, excluded);
    options.agent.connector = [this](const NodeSpec& spec,
                                     const ConnectOptions&) -> Result<std::unique_ptr<Connection>> {
      return std::make_unique<ScriptedConnection>(node(spec.name.str()));
    };
    const Registry registry{{}};
    FleetSession session(cluster_, registry, options);
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
    for (int place = 0; place < changing; ++place) {
      trial.add(session.nodes()[static_cast<std::size_t>(place)],
                {Step{"link", {"link", "eth0"}, Phase::kNetwork, Absent{}, Absent{}, {}, {}, "net"}});
    }
    for (const FleetNode& one : session.nodes()) {
      if (one.name() == held) trial.refuse(one, busy_with({kTraining}));
    }
    trial.carry_out();
    for (const FleetNode& one : session.nodes()) states[one.name()] = trial.at(one).trial.state;
    for (const FleetNode& one : session.nodes()) {
      if (one.error) failed.push_back(one.name());
    }
    why_not = trial.at(first).trial.why_not;
    deferred = trial.at(first).deferred;
    return trial.at(first).trial.state;
  }

  void join(const std::string& one, const std::string& other) {
    cluster_.cables.emplace_back(*NodeName::parse(one), *NodeName::parse(other));
  }

  std::chrono::seconds window{60};
  std::vector<std::string> excluded;  ///< Of --exclude.
  bool ignore_jobs = false;
  int changing = 1;                            ///< The first so many nodes have a disruptive step.
  std::string held;                            ///< A node on which a job ran when the plan was made.
  std::map<std::string, Trial::State> states;  ///< Of all nodes, after the trial.
  std::string why_not;
  std::optional<Error> deferred;
  std::vector<std::string> failed;  ///< Nodes that were excluded.

 private:
  Cluster cluster_;
  std::map<std::string, std::unique_ptr<ScriptedNode>> scripts_;
};

bool asks_for_ssh(const ProbeTarget& target) { return target.ssh_port != 0; }

}  // namespace

TEST_CASE("trial: a node's connection that dies during a probe is used only by that node's own thread") {
  TrialBench bench(3);
  // While n2 probes, n3 waits and is pinged. A ping to n2 at that time would be a second thread in its connection.
  bench.node("n2").reaches = [&](const ProbeTarget& target) {
    if (!asks_for_ssh(target)) return true;
    (void)bench.node("n3").is_pinged(50);
    bench.node("n2").cut = true;
    return true;
  };
  CHECK(bench.carry_out() == Trial::State::kConfirmed);
  CHECK(bench.why_not.empty());
  for (const std::string name : {"n1", "n2", "n3"}) CHECK_FALSE(bench.node(name).used_by_two);
  CHECK(bench.node("n3").probed == std::vector<ProbeTarget>{{"10.0.0.1", "", 0, 22}});
}

TEST_CASE("trial: a node that delays its answers does not use up the windows of the other nodes of its wave") {
  TrialBench bench(4);
  bench.changing = 4;
  bench.window = std::chrono::seconds(3);
  bool extended = false;
  // n2 is the canary. While n4 probes after its change, the others of its wave wait with theirs.
  bench.node("n4").reaches = [&](const ProbeTarget&) {
    if (bench.node("n4").transaction && !extended) extended = bench.node("n3").is_extended();
    return true;
  };
  CHECK(bench.carry_out() == Trial::State::kConfirmed);
  CHECK(extended);
  CHECK(bench.states.at("n3") == Trial::State::kConfirmed);
  for (const std::string name : {"n1", "n3", "n4"}) CHECK_FALSE(bench.node(name).used_by_two);
}

TEST_CASE("trial: the controller's own machine is kept only if another node reaches it") {
  TrialBench bench(7);
  for (const std::string name : {"n2", "n3", "n4", "n5", "n6", "n7"})
    bench.node(name).reaches = std::not_fn(asks_for_ssh);
  SECTION("the last node reaches it") {
    bench.node("n7").reaches = asks_for_ssh;
    CHECK(bench.carry_out() == Trial::State::kConfirmed);
  }
  SECTION("no node reaches it") {
    CHECK(bench.carry_out() != Trial::State::kConfirmed);
    CHECK(bench.why_not == "no other node reaches it at 10.0.0.1 any more");
  }
}

TEST_CASE("trial: a job that was started since the plan keeps its node from being changed, and not in the run") {
  TrialBench bench(2);
  bench.node("n1").jobs = {kTraining};
  SECTION("its disruptive steps are deferred") {
    CHECK(bench.carry_out() == Trial::State::kWaiting);
    REQUIRE(bench.deferred);
    CHECK(bench.deferred->code == ErrorCode::kBusy);
    CHECK(bench.deferred->message.find("job 20260301T120000Z-4f9a1c07 of nvidia (process 4242) since "
                                       "2026-03-01T12:00:00Z, started by \"anna@laptop\": train") != std::string::npos);
    CHECK(bench.failed.empty());
  }
  SECTION("unless the user ignores jobs") {
    bench.ignore_jobs = true;
    CHECK(bench.carry_out() == Trial::State::kConfirmed);
    CHECK_FALSE(bench.deferred);
  }
}

TEST_CASE("trial: a canary with a new job is replaced by another canary, not by all nodes at once") {
  TrialBench bench(4);
  bench.changing = 4;
  // n1 is the controller's own machine, so n2 is first.
  bench.node("n2").jobs = {kTraining};
  bench.node("n3").reaches = [](const ProbeTarget& target) { return target.bytes < 1500; };
  CHECK(bench.carry_out() == Trial::State::kWaiting);
  REQUIRE(bench.node("n3").transaction);
  CHECK(bench.node("n3").transaction->state == TransactionState::kRolledBack);
  CHECK_FALSE(bench.node("n4").transaction);
}

TEST_CASE(
    "trial: while jobs hold the canaries, each next wave is one node, and the first confirmed one frees the rest") {
  TrialBench bench(6);
  bench.changing = 6;
  bench.node("n2").jobs = {kTraining};
  bench.node("n3").jobs = {kTraining};
  SECTION("the third canary is kept") {
    CHECK(bench.carry_out() == Trial::State::kConfirmed);
    for (const std::string name : {"n4", "n5", "n6"}) CHECK(bench.states.at(name) == Trial::State::kConfirmed);
  }
  SECTION("the third canary fails, and no other node is begun") {
    bench.node("n4").reaches = [](const ProbeTarget& target) { return target.bytes < 1500; };
    CHECK(bench.carry_out() == Trial::State::kWaiting);
    REQUIRE(bench.node("n4").transaction);
    CHECK(bench.node("n4").transaction->state == TransactionState::kRolledBack);
    for (const std::string name : {"n1", "n5", "n6"}) CHECK_FALSE(bench.node(name).transaction);
    REQUIRE(bench.deferred);
    CHECK(bench.deferred->message == "its disruptive changes were not started: a change was rolled back on n4");
  }
  for (const std::string name : {"n2", "n3"}) {
    CHECK(bench.states.at(name) == Trial::State::kWaiting);
    CHECK_FALSE(bench.node(name).transaction);
  }
}

TEST_CASE("trial: with a job on every node the run ends, and each node was asked once") {
  TrialBench bench(4);
  bench.changing = 4;
  for (const std::string name : {"n1", "n2", "n3", "n4"}) bench.node(name).jobs = {kTraining};
  CHECK(bench.carry_out() == Trial::State::kWaiting);
  for (const std::string name : {"n1", "n2", "n3", "n4"}) {
    CHECK(bench.states.at(name) == Trial::State::kWaiting);
    CHECK(bench.node(name).trials == 1);
  }
  CHECK(bench.failed.empty());
}

TEST_CASE("trial: a job that begins on a node of a later wave holds that node alone") {
  TrialBench bench(4);
  bench.changing = 4;
  bench.node("n3").jobs = {kTraining};
  CHECK(bench.carry_out() == Trial::State::kConfirmed);
  CHECK(bench.states.at("n2") == Trial::State::kConfirmed);
  CHECK(bench.states.at("n3") == Trial::State::kWaiting);
  CHECK(bench.states.at("n4") == Trial::State::kConfirmed);
}

TEST_CASE("trial: a job on one end of a cable holds the change of the other end") {
  TrialBench bench(4);
  bench.changing = 4;
  bench.held = "n3";
  bench.join("n2", "n3");
  CHECK(bench.carry_out() == Trial::State::kConfirmed);
  CHECK(bench.states.at("n2") == Trial::State::kWaiting);
  CHECK_FALSE(bench.node("n2").transaction);
  CHECK(bench.states.at("n4") == Trial::State::kConfirmed);
}

TEST_CASE("trial: neighbours that answered before have to answer large packets afterwards") {
  TrialBench bench(2);
  SECTION("they do") { CHECK(bench.carry_out() == Trial::State::kConfirmed); }
  SECTION("large packets are lost") {
    bench.node("n1").reaches = [](const ProbeTarget& target) { return target.bytes < 1500; };
    CHECK(bench.carry_out() != Trial::State::kConfirmed);
    CHECK(bench.why_not == "packets of 9000 bytes do not reach 192.168.100.2: a device on the path has a smaller MTU");
  }
  const ProbeTarget small{"192.168.100.2", "", 84, 0};
  const ProbeTarget large{"192.168.100.2", "", 9000, 0};
  CHECK(bench.node("n1").probed == std::vector<ProbeTarget>{small, small, large});
}

TEST_CASE("trial: a node that stops answering has its neighbour's change rolled back, unless --exclude names it") {
  for (const bool excluded : {false, true}) {
    TrialBench bench(3);
    auto& n1 = bench.node("n1");
    n1.reaches = [&](const ProbeTarget& target) { return target.address != "192.168.100.2" || !n1.transaction; };
    if (excluded) bench.excluded = {"n2"};
    CHECK((bench.carry_out() == Trial::State::kConfirmed) == excluded);
    CHECK(bench.why_not == (excluded ? "" : "it no longer reaches 192.168.100.2"));
  }
}

}  // namespace sparkplan
