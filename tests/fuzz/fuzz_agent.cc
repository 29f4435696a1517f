// The agent's replies to a hostile controller. A directory stands for the machine, and the fuzzer also changes the
// agent's own records: manifest, journals, a change on trial. An input is the title of a case, a newline, and the
// sequence of requests and changes. For every input, files outside the directory must stay untouched.
//
// Requests that reach beyond the directory by nature are left out: sending packets, logging in, killing the process
// that holds the lock.
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "engine/agent/session/session.h"
#include "engine/core/json.h"
#include "engine/core/text.h"
#include "engine/plan/desired_state.h"
#include "engine/plan/planner.h"
#include "engine/wire/messages.h"
#include "tests/fuzz/choices.h"
#include "tests/fuzz/hostile_value.h"
#include "tests/fuzz/machines.h"
#include "tests/fuzz/named_input.h"
#include "tests/fuzz/property.h"

namespace sparkplan::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostRequests = 8;
constexpr auto kRun = "20260301-120000-abcd";
constexpr std::string_view kUntouched = "as it was\n";

/// A directory with a machine in "root". Everything else in the directory is off limits for the agent.
class Ground {
 public:
  Ground() {
    std::error_code none;
    const fs::path memory = "/dev/shm";
    std::string name = ((fs::is_directory(memory, none) ? memory : fs::temp_directory_path()) / "fuzz-XXXXXX").string();
    require(::mkdtemp(name.data()) != nullptr, "there is no directory to work in");
    path_ = name;
  }
  Ground(const Ground&) = delete;
  Ground& operator=(const Ground&) = delete;
  ~Ground() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }

  fs::path root() const { return path_ / "root"; }

  /// Writes the files of the case's machine, and links that lead out of it.
  void furnish(const test::FakeNode& machine) const {
    fs::remove_all(root());
    fs::remove_all(path_ / "outside");
    fs::create_directories(root() / "etc");
    write(path_ / "outside" / "file", kUntouched);
    fs::create_symlink(path_ / "outside", root() / "etc" / "out");
    fs::create_symlink("../../outside", root() / "etc" / "over");
    for (const auto& [path, described] : machine.snapshot()) {
      if (const auto text = machine.text_of(path); text && !path.starts_with("/proc/"))
        write(root() / path.substr(1), *text);
    }
  }

  void require_outside_untouched() const {
    std::size_t found = 0;
    for (const auto& entry : fs::recursive_directory_iterator(path_ / "outside")) {
      ++found;
      require(entry.path().filename() == "file" && read(entry.path()) == kUntouched, "the agent was outside",
              entry.path().string());
    }
    require(found == 1, "something outside has gone");
    for (const auto& entry : fs::directory_iterator(path_)) {
      require(entry.path() == root() || entry.path() == path_ / "outside", "the agent was outside",
              entry.path().string());
    }
  }

  /// Changes one of the agent's own records.
  void change_record(Choices& choices) const {
    static const std::string journal = std::string("journal/") + kRun + ".jsonl";
    static const std::string record = std::string("txn/") + kRun + "/record.json";
    static const std::string armed = std::string("txn/") + kRun + "/armed";
    static const std::string snapshot = std::string("txn/") + kRun + "/lifeline.json";
    const std::string names[] = {"manifest.json", journal, record, armed, snapshot, "verify/history.jsonl", "lock"};
    const fs::path file = root() / "var/lib/sparkplan" / names[choices.below(std::size(names))];
    std::string text = read(file);
    if (auto tree = decode_json(text); tree && choices.below(4) != 3) {
      spoil(*tree, choices);
      text = encode_json(*tree);
    } else {
      spoil(text, choices);
    }
    std::error_code in_the_way;
    fs::create_directories(file.parent_path(), in_the_way);
    if (!in_the_way && !fs::is_directory(file)) write(file, text);
  }

 private:
  static std::string read(const fs::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  static void write(const fs::path& file, std::string_view text) {
    std::error_code in_the_way;
    fs::create_directories(file.parent_path(), in_the_way);
    std::ofstream(file, std::ios::binary | std::ios::trunc) << text;
  }

  fs::path path_;
};

/// A controller that has received `observed`, and the requests that it would send next.
struct Controller {
  const CaseMachines& machines;
  FactsReply known;
  ObservedState observed;

  Roster roster() const {
    Roster roster{"lab", "0b5e0c3e-7d2a-4c57-8a43-1f3b6c9d2e10", 1, {}};
    roster.members.push_back({machines.world.self, 1, "10.0.0.11", "nvidia", 22, "", "", "", "sudo", "", false});
    return roster;
  }
  DesiredState desired() const {
    std::map<std::string, NodeExports> exports = machines.world.exports;
    exports[machines.world.self] = known.exports;
    return desired_state({machines.world.cluster, *machines.self, exports}, known.facts, builtin_registry());
  }
  NodePlan plan(const DesiredState& wanted) const {
    NodePlanInput input;
    input.desired = wanted.resources;
    input.observed = &observed;
    input.manifest = known.manifest ? &*known.manifest : nullptr;
    input.incomplete_types = wanted.incomplete_types;
    input.unresolved = wanted.unresolved;
    return plan_node(input, builtin_registry());
  }
  Request facts() const {
    FactsRequest request;
    for (const auto& type : builtin_registry().types()) {
      const auto section = machines.self->sections.find(type->info().section);
      if (section != machines.self->sections.end()) request.exports[type->info().name] = section->second;
    }
    request.observe_managed = true;
    request.set_damaged_aside = true;
    return request;
  }
  Request apply() const {
    auto made = plan(desired());
    return ApplyRequest{kRun, machines.world.self, roster(), std::move(made.steps), std::move(made.after_steps), 0};
  }
  Request commit() const {
    CommitRequest request{kRun, machines.world.self, roster(), {}, "an audit line"};
    for (const auto& [id, value] : plan(desired()).resulting) request.resources[id].last_applied = value;
    return request;
  }
  Request effect() const {
    EffectRequest request;
    for (const Resource& one : desired().resources) request.desired[one.id.type][one.id.name] = one.desired;
    return request;
  }
  Request next(std::size_t which) const {
    switch (which % 16) {
      case 0:
        return facts();
      case 1:
        return ObserveNodeRequest{names_to_observe(desired().resources, known.manifest ? &*known.manifest : nullptr)};
      case 2:
        return LockRequest{{"anna@laptop", 1, "apply", "now"}, {}};
      case 3:
        return apply();
      case 4:
        return commit();
      case 5:
        return effect();
      case 6:
        return HistoryRequest{true};
      case 7:
        return UndoRequest{};
      case 8:
        return TransactionRequest{};
      case 9:
        return ConfirmRequest{kRun};
      case 10:
        return RollBackRequest{kRun, "asked for"};
      case 11:
        return ReleaseRequest{"an audit line"};
      case 12:
        return MeasurementsRequest{{{"tcp/spark-01/spark-02/A", 1e9}}};
      case 13:
        return ReadStorageRequest{"/mnt/models"};
      case 14:
        return MeasurementHistoryRequest{};
      default:
        return UnlockRequest{};
    }
  }
};

bool stays_in_the_directory(const Request& request) {
  if (const auto* apply = std::get_if<ApplyRequest>(&request)) {
    // A change on trial begins with a copy of the running program, and the fuzzer is a large program.
    return apply->window_seconds <= 0;
  }
  return !std::holds_alternative<ProbeRequest>(request) && !std::holds_alternative<SshLoginRequest>(request) &&
         !std::holds_alternative<SendDatagramsRequest>(request) &&
         !std::holds_alternative<MeasureTcpRequest>(request) && !std::holds_alternative<OpenReceiverRequest>(request) &&
         !std::holds_alternative<StartLinkProbeRequest>(request) &&
         !std::holds_alternative<SendLinkProbesRequest>(request) && !std::holds_alternative<BreakLockRequest>(request);
}

void learn(const Request& request, const Value& reply, Controller& controller) {
  if (std::holds_alternative<FactsRequest>(request)) (void)decoded(reply, decode<FactsReply>, controller.known);
  if (std::holds_alternative<ObserveNodeRequest>(request)) {
    (void)decoded(reply, decode<ObservedState>, controller.observed);
  }
}

void serve(Choices choices) {
  const CaseMachines* machines = machines_of(choices.line());
  if (machines == nullptr) return;
  static const Ground ground;
  ground.furnish(machines->world.node);
  auto node = LocalNode::open(ground.root());
  require(node.has_value(), "the directory cannot be opened");
  Controller controller{*machines, {}, {}};
  {
    AgentSession session(
        builtin_registry(), std::move(*node), [] { return false; }, [](std::string_view) {});
    for (std::size_t i = 0; i < kMostRequests && !choices.empty(); ++i) {
      const std::size_t what = choices.byte();
      if (what >= 240) ground.change_record(choices);
      Value message = encode(NumberedRequest{1, controller.next(what)});
      if (choices.byte() % 2 == 1) spoil(message, choices);
      const auto sent = decode_json(encode_json(message));
      const auto request = sent ? decode_request(*sent) : Result<NumberedRequest>(NumberedRequest{0, PingRequest{}});
      if (!request || !stays_in_the_directory(request->request)) continue;
      const NumberedReply reply{request->id, session.answer(request->request)};
      const std::string text = encode_json(encode(reply));
      const auto received = decode_json(text);
      require(received.has_value(), "an answer is no JSON", text);
      const auto read = decode_reply(*received);
      require(read.has_value(), "an answer is refused", text);
      if (read->body) learn(request->request, *read->body, controller);
    }
  }
  ground.require_outside_untouched();
}

}  // namespace
}  // namespace sparkplan::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  sparkplan::fuzz::serve({data, size});
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  return sparkplan::fuzz::mutate_named_input(data, size, max_size, seed, false);
}
