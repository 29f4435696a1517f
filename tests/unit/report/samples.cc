#include "tests/unit/report/samples.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "engine/core/text.h"
#include "engine/resource/artifact.h"
#include "tests/unit/report/cluster_of_eight.h"

namespace sparkplan::testing {
namespace {

Change sysctl(const std::string& name, std::int64_t before, std::int64_t after, Action action = Action::kUpdate) {
  return sample_change("sysctl/" + name, action, {{"persistent", Value(), after}, {"running", before, after}});
}

void both_facets(NodePlan& plan, const Change& change) {
  const Value& after = change.fields.front().after;
  plan.after_steps[change.id] = Value::map({{"persistent", after}, {"running", after}});
}

Change fabric_address(int number) {
  Change change = sample_change(
      "netplan/enp1s0f1np1", Action::kUpdate,
      {{"addresses", Value(Value::List{}), Value::list({"192.168.100." + std::to_string(10 + number) + "/24"})},
       {"mtu", 1500, 9000}});
  change.impact = Impact::kInterruptsNetwork;
  change.reversible = Reversible::kBestEffort;
  return change;
}

NodeReport first_apply_of(int number) {
  NodeReport node = sample_node(number, NodeStatus::kPending);
  node.membership = Membership::kJoining;
  for (const char* name : {"net.core.rmem_max", "net.core.wmem_max"}) {
    node.plan.changes.push_back(sysctl(name, 212992, 268435456, Action::kCreate));
    both_facets(node.plan, node.plan.changes.back());
  }
  Change memlock = sample_change("limits/*:memlock", Action::kCreate,
                                 {{"hard", Value(), "unlimited"}, {"soft", Value(), "unlimited"}});
  memlock.impact = Impact::kNeedsRelogin;
  node.plan.after_steps[memlock.id] = Value::map({{"soft", "unlimited"}, {"hard", "unlimited"}});
  node.plan.changes.push_back(std::move(memlock));
  return node;
}

Report plan_example() {
  NodeReport changed = sample_node(1, NodeStatus::kPending);
  changed.plan.changes = {sysctl("net.core.rmem_max", 212992, 268435456, Action::kCreate)};
  both_facets(changed.plan, changed.plan.changes[0]);
  changed.plan.changes.push_back(fabric_address(1));
  std::vector<NodeReport> nodes = {changed};
  for (int number = 2; number <= 8; ++number) nodes.push_back(sample_node(number));
  return sample_report("plan", std::move(nodes));
}

Report nothing_to_do() {
  std::vector<NodeReport> nodes;
  for (int number = 1; number <= 8; ++number) nodes.push_back(sample_node(number));
  return sample_report("plan", std::move(nodes));
}

/// Two nodes with equal changes share a block; a third that differs in one digit does not.
Report first_plan() {
  std::vector<NodeReport> nodes = {first_apply_of(1), first_apply_of(2), first_apply_of(3)};
  nodes[2].plan.changes[0].fields[1].before = 425984;
  return sample_report("plan", std::move(nodes));
}

Report two_stages() {
  NodeReport node = sample_node(1, NodeStatus::kPending);
  node.plan.changes = {
      sample_change("ssh_trust/nvidia", Action::kCreate, {{"key", Value(), "ed25519"}}),
      sample_change(
          "ssh_trust/root", Action::kCreate,
          {{"authorized", Value(), Value::Unknown{"known after spark-02 creates its key", "spark-02/ssh_trust/root"}}}),
      sample_change(
          "unit/rdma-tune.service", Action::kUpdate,
          {{"content", "[Service]\nExecStart=/bin/true\n", "[Service]\nExecStart=/usr/bin/rdma-tune\nType=oneshot\n"},
           {"enabled", false, true}})};
  node.plan.changes[2].impact = Impact::kRestartsService;
  node.plan.changes.push_back(sample_change("unit/late.service", Action::kCreate, {{"enabled", Value(), true}}));
  node.plan.changes[3].note = "waits for ssh_trust/root";
  node.plan.waiting = {{"ssh_trust", "root"}, {"unit", "late.service"}};
  return sample_report("plan", {node});
}

NodeReport edited_file(int number) {
  NodeReport node = sample_node(number, NodeStatus::kDrifted);
  Step step{"sysctl",
            file_artifact("/etc/sysctl.d/90-sparkplan.conf"),
            Phase::kKernelParameters,
            file_present("# Written by sparkplan\nvm.swappiness = 10\nvm.dirty_ratio = 99\n", 0644),
            file_present("# Written by sparkplan\nvm.swappiness = 10\n", 0644),
            {{"sysctl", "@file"}},
            {},
            "sysctl"};
  node.plan.changes = {sample_change("sysctl/@file", Action::kUpdate,
                                     {{"content", *content_of(step.before), *content_of(step.after)}}, Origin::kDrift)};
  node.plan.steps = {step};
  return node;
}

Report drift() {
  NodeReport changed = sample_node(2, NodeStatus::kDrifted);
  changed.plan.changes = {
      sample_change("sysctl/vm.swappiness", Action::kUpdate, {{"running", 60, 10}}, Origin::kDrift),
      sample_change("sysctl/vm.dirty_ratio", Action::kUpdate, {{"persistent", 40, 20}}, Origin::kForeign)};
  changed.plan.after_steps[{"sysctl", "vm.swappiness"}] = Value::map({{"persistent", 10}, {"running", 10}});
  changed.plan.changes[1].note = "/etc/sysctl.d/99-tuning.conf:3 sets it to 40 and overrides ours at boot";
  NodeReport pending = sample_node(3, NodeStatus::kPending);
  pending.plan.changes = {
      sample_change("profile_env/HF_HOME", Action::kCreate, {{"value", Value(), "/mnt/models/hf"}})};
  pending.plan.changes[0].impact = Impact::kNeedsRelogin;
  pending.plan.changes.push_back(sample_change("profile_env/OLD", Action::kRemove, {{"value", "1", Value()}}));
  return sample_report("drift", {edited_file(1), changed, pending, sample_node(4)});
}

Report trouble() {
  std::vector<NodeReport> nodes = {sample_node(1, NodeStatus::kFailed),
                                   sample_node(2),
                                   sample_node(3, NodeStatus::kUnreachable),
                                   sample_node(4, NodeStatus::kRefused),
                                   sample_node(5, NodeStatus::kSkipped),
                                   sample_node(6, NodeStatus::kUnreachable),
                                   sample_node(7)};
  nodes[0].plan.changes = {sysctl("vm.swappiness", 60, 10)};
  nodes[0].plan.blocked = {{{"sysctl", "vm.dirty_ratio"},
                            {ErrorCode::kPermissionDenied, "read /proc/sys/vm/dirty_ratio", {}, 13, "run as root"},
                            {}}};
  nodes[0].lock_holder = "anna@laptop (pid 4242, apply)";
  nodes[1].plan.kept_orphans = {{"limits", "root:memlock"}};
  nodes[2].error = Error{ErrorCode::kUnreachable, "connect to port 22", {"node spark-03"}, 113, "is it switched on?"};
  nodes[3].error = Error{ErrorCode::kRefused,
                         "the node belongs to cluster office, not to lab",
                         {},
                         {},
                         "release it with the cluster.yaml of office first"};
  nodes[5].error = Error{ErrorCode::kUnreachable, "connect to port 22", {"node spark-06"}, 113, "is it switched on?"};
  nodes[5].membership = Membership::kLeaving;
  for (const char* name : {"a", "b", "c", "d", "e", "f"})
    nodes[6].plan.not_applicable.push_back({{"sysctl", name}, "running", "nothing runs in an image"});
  nodes[6].plan.not_applicable.push_back({{"netplan", "eth1"}, "", "an image has no links"});
  return sample_report("plan", std::move(nodes));
}

Report applied() {
  NodeReport done = first_apply_of(1);
  done.status = NodeStatus::kApplied;
  for (const Change& change : done.plan.changes) done.outcomes[change.id] = Outcome::kDone;
  NodeReport failed = first_apply_of(2);
  failed.status = NodeStatus::kFailed;
  failed.outcomes = {{{"sysctl", "net.core.rmem_max"}, Outcome::kDone},
                     {{"sysctl", "net.core.wmem_max"}, Outcome::kFailed},
                     {{"limits", "*:memlock"}, Outcome::kNotDone}};
  failed.plan.blocked = {
      {{"sysctl", "net.core.wmem_max"},
       {ErrorCode::kFailed, "write /proc/sys/net/core/wmem_max", {}, 22, "the kernel allows 1 to 4194304"},
       {}}};
  NodeReport cut_off = sample_node(4, NodeStatus::kUnreachable);
  cut_off.error = Error{ErrorCode::kUnreachable, "the connection broke", {}, {}, "run plan to see what was done"};
  cut_off.plan.changes = {sysctl("vm.swappiness", 60, 10)};
  both_facets(cut_off.plan, cut_off.plan.changes[0]);
  cut_off.outcomes[cut_off.plan.changes[0].id] = Outcome::kUnknown;
  return sample_report("apply", {done, failed, sample_node(3), cut_off});
}

Report rolled_back() {
  NodeReport node = sample_node(1, NodeStatus::kRolledBack);
  node.plan.changes = {fabric_address(1)};
  node.outcomes[node.plan.changes[0].id] = Outcome::kNotDone;
  node.error =
      Error{ErrorCode::kUnreachable, "no fresh connection within 72s", {}, {}, "see sparkplan history spark-01"};
  NodeReport gone = sample_node(2, NodeStatus::kReleased);
  gone.membership = Membership::kLeaving;
  Report report = sample_report("apply", {node, gone});
  report.interrupted = true;
  report.partial = true;
  return report;
}

/// Texts that a hostile node may send, and values that are too long for a line.
Report hostile() {
  NodeReport node = sample_node(1, NodeStatus::kPending);
  node.name = "spark-01\x1b[31m";
  node.plan.changes = {
      sample_change("files/\x1b]0;owned\x07", Action::kUpdate, {{"content", "a\x1b[2Jb\nc\n", "a\nc\xff\n"}}),
      sample_change("profile_env/LONG", Action::kUpdate,
                    {{"value", std::string(200, 'x'), "a" + std::string(100, 'y') + "z"}}),
      sample_change("profile_env/\xe2\x80\xaeltr", Action::kUpdate, {{"value", "line\nbreak", "caf\xc3\xa9"}})};
  node.lock_holder = "mallory\x1b[0m";
  return sample_report("plan", {node});
}

}  // namespace

NodeReport sample_node(int number, NodeStatus status) {
  NodeReport node;
  node.name = "spark-0" + std::to_string(number);
  node.address = "10.0.0." + std::to_string(10 + number);
  node.status = status;
  return node;
}

Report sample_report(std::string command, std::vector<NodeReport> nodes) {
  Report report;
  report.command = std::move(command);
  report.cluster = "lab";
  report.file = "cluster.yaml";
  report.config_digest = std::string(64, 'a');
  report.nodes = std::move(nodes);
  report.duration = std::chrono::milliseconds(120);
  return report;
}

Change sample_change(const std::string& id, Action action, std::vector<FieldChange> fields, Origin origin) {
  Change change;
  const auto slash = id.find('/');
  change.id = {id.substr(0, slash), id.substr(slash + 1)};
  change.action = action;
  change.origin = origin;
  change.fields = std::move(fields);
  if (action != Action::kRemove) change.where = {31, 5, 9};
  return change;
}

std::vector<std::pair<std::string, Report>> sample_reports() {
  return {{"plan-example", plan_example()},
          {"plan-nothing-to-do", nothing_to_do()},
          {"plan-first", first_plan()},
          {"plan-two-stages", two_stages()},
          {"plan-trouble", trouble()},
          {"plan-hostile", hostile()},
          {"drift", drift()},
          {"apply", applied()},
          {"apply-rolled-back", rolled_back()},
          {"eight-first-plan", first_plan_of_eight()},
          {"eight-first-apply", first_apply_of_eight()},
          {"eight-trouble", trouble_among_eight()},
          {"eight-removals", removals_on_eight()}};
}

TextStyle verbose() {
  TextStyle style;
  style.verbose = true;
  return style;
}

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  for (const std::string_view line : split_lines(text)) widest = std::max(widest, text_width(line));
  return widest;
}

Report nodes_with(const std::vector<Change>& changes, const std::string& command) {
  std::vector<NodeReport> nodes;
  for (const Change& change : changes) {
    nodes.push_back(sample_node(static_cast<int>(nodes.size()) + 1, NodeStatus::kPending));
    nodes.back().plan.changes = {change};
    if (command == "apply") nodes.back().outcomes[change.id] = Outcome::kDone;
  }
  return sample_report(command, std::move(nodes));
}

NodeReport node_with(std::vector<Change> changes) {
  NodeReport node = sample_node(1, NodeStatus::kPending);
  node.plan.changes = std::move(changes);
  return node;
}

}  // namespace sparkplan::testing
