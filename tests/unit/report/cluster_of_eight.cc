#include "tests/unit/report/cluster_of_eight.h"

#include <utility>
#include <vector>

#include "engine/resource/artifact.h"
#include "tests/unit/report/samples.h"

namespace sparkplan::testing {
namespace {

constexpr int kNodes = 8;

std::string name_of(int number) { return "spark-0" + std::to_string(number); }

/// A change of a resource whose fields all have one value.
Change one_value(const std::string& id, const Value& before, const Value& after, NodePlan& plan) {
  Change change = sample_change(id, Action::kCreate, {{"persistent", Value(), after}, {"running", before, after}});
  plan.after_steps[change.id] = Value::map({{"persistent", after}, {"running", after}});
  return change;
}

Change with_impact(Change change, Impact impact) {
  change.impact = impact;
  return change;
}

/// A bare node has no key, and neither have the others.
Change trust(int number) {
  std::vector<FieldChange> fields;
  Value config = Value::list();
  for (int other = 1; other <= kNodes; ++other) {
    const std::string peer = name_of(other);
    fields.push_back({"authorized." + peer, Value(),
                      Value::Unknown{"known after " + peer + " creates its key", peer + "/ssh_trust/nvidia"}});
    config.push_back(peer + " 10.0.0." + std::to_string(10 + other));
  }
  fields.push_back({"config", Value(), std::move(config)});
  fields.push_back({"key", Value(), "ed25519 sparkplan:rack:" + name_of(number)});
  for (int other = 1; other <= kNodes; ++other) {
    fields.push_back({"known_hosts." + name_of(other), Value(), Value::list({name_of(other) + " ssh-ed25519 AAAA"})});
  }
  return sample_change("ssh_trust/nvidia", Action::kCreate, std::move(fields));
}

Change half(const std::string& interface, const std::string& address) {
  const Value addresses = Value::list({address});
  return with_impact(sample_change("netplan/" + interface, Action::kCreate,
                                   {{"addresses", Value(Value::List{}), addresses},
                                    {"mtu", 1500, 9000},
                                    {"persistent.addresses", Value(), addresses},
                                    {"persistent.mtu", Value(), 9000},
                                    {"up", false, true}}),
                     Impact::kInterruptsNetwork);
}

NodeReport bare_node(int number) {
  NodeReport node = sample_node(number, NodeStatus::kPending);
  node.membership = Membership::kJoining;
  NodePlan& plan = node.plan;
  const auto add = [&](Change change) { plan.changes.push_back(std::move(change)); };
  add(trust(number));
  plan.waiting.push_back(plan.changes.back().id);
  add(with_impact(sample_change("file//etc/systemd/logind.conf.d/60-sparkplan.conf", Action::kCreate,
                                {{"content", Value(), "[Login]\nRemoveIPC=no\n"}}),
                  Impact::kRestartsService));
  for (int other = 1; other <= kNodes; ++other) {
    add(sample_change("hosts/" + name_of(other) + "-fabric", Action::kCreate,
                      {{"address", Value(), "192.168.100." + std::to_string(10 + other)}}));
    plan.after_steps[plan.changes.back().id] = Value::map({{"address", plan.changes.back().fields.front().after}});
  }
  for (const char* domain : {"*", "root"})
    add(with_impact(one_value("limits/" + std::string(domain) + ":memlock", {}, "unlimited", plan),
                    Impact::kNeedsRelogin));
  for (const auto& [variable, value] :
       {std::pair("NCCL_DEBUG", "WARN"), std::pair("NCCL_IB_HCA", "=rocep1s0f1,roceP2p1s0f1"),
        std::pair("NCCL_SOCKET_IFNAME", "=enp1s0f1np1")})
    add(with_impact(one_value("nccl_env/" + std::string(variable), {}, value, plan), Impact::kNeedsRelogin));
  add(one_value("sysctl/net.core.rmem_max", "212992", "268435456", plan));
  add(one_value("sysctl/net.core.wmem_max", "212992", "268435456", plan));
  if (number == kNodes) add(one_value("sysctl/vm.swappiness", "60", "10", plan));
  const std::string last = std::to_string(10 + number);
  add(half("enP2p1s0f1np1", "192.168.101." + last + "/24"));
  add(half("enp1s0f1np1", "192.168.100." + last + "/24"));
  return node;
}

Report of_eight(const std::string& command, NodeReport (*node_of)(int number)) {
  std::vector<NodeReport> nodes;
  for (int number = 1; number <= kNodes; ++number) nodes.push_back(node_of(number));
  return sample_report(command, std::move(nodes));
}

NodeReport node_with_removals(int number) {
  NodeReport node = sample_node(number, NodeStatus::kPending);
  NodePlan& plan = node.plan;
  const auto remove = [&](const std::string& id, std::vector<FieldChange> fields) {
    plan.changes.push_back(sample_change(id, Action::kRemove, std::move(fields)));
    return plan.changes.back().id;
  };
  const auto parameter = remove("sysctl/net.core.somaxconn", {{"persistent", "8192", {}}, {"running", "8192", {}}});
  plan.steps.push_back({"sysctl",
                        {"kernel_parameter", "net/core/somaxconn"},
                        Phase::kKernelParameters,
                        Present{Value::map({{"value", "8192"}}), {}},
                        Present{Value::map({{"value", "4096"}}), {}},
                        {parameter},
                        {},
                        "sysctl"});
  const auto motd = remove("file//etc/motd", {{"content", "Two Sparks\n", {}}, {"mode", "0644", {}}});
  plan.steps.push_back({"file",
                        file_artifact("/etc/motd"),
                        Phase::kFiles,
                        file_present("Two Sparks\n", 0644),
                        file_present("Debian GNU/Linux\n", 0644),
                        {motd},
                        {},
                        "motd"});
  const auto earlyoom = remove("file//etc/earlyoom.conf", {{"content", "-m 2\n", {}}, {"mode", "0640", {}}});
  plan.steps.push_back({"file",
                        file_artifact("/etc/earlyoom.conf"),
                        Phase::kFiles,
                        file_present("-m 2\n", 0640),
                        Absent{},
                        {earlyoom},
                        {},
                        "earlyoom"});
  // The file of all variables: it says nothing about one of them.
  const auto variable = remove("profile_env/OLD", {{"value", "1", {}}});
  plan.steps.push_back({"profile_env",
                        file_artifact("/etc/profile.d/sparkplan-env.sh"),
                        Phase::kFiles,
                        file_present("export OLD='1'\n", 0644),
                        Absent{},
                        {variable},
                        {},
                        "profile_env"});
  return node;
}

}  // namespace

Report first_plan_of_eight() { return of_eight("plan", bare_node); }

Report first_apply_of_eight() {
  Report report = of_eight("apply", bare_node);
  for (NodeReport& node : report.nodes) {
    node.status = NodeStatus::kApplied;
    node.membership = Membership::kMember;
    node.plan.waiting.clear();
    for (FieldChange& field : node.plan.changes.front().fields) {
      if (field.after.is_unknown()) field.after = "from=\"10.0.0.11\" ssh-ed25519 AAAA";
    }
    for (const Change& change : node.plan.changes) node.outcomes[change.id] = Outcome::kDone;
  }
  NodeReport& failed = report.nodes[1];
  const ResourceId parameter{"sysctl", "net.core.wmem_max"};
  failed.status = NodeStatus::kFailed;
  failed.outcomes[parameter] = Outcome::kFailed;
  failed.plan.blocked = {
      {parameter,
       {ErrorCode::kFailed, "write /proc/sys/net/core/wmem_max", {}, 22, "the kernel allows 1 to 4194304"},
       {}}};
  return report;
}

Report with_frameworks(Report report) {
  int number = 0;
  for (NodeReport& node : report.nodes) {
    const std::string address = "192.168.100." + std::to_string(10 + ++number);
    const std::vector<std::pair<std::string, std::string>> variables{
        {"GLOO_SOCKET_IFNAME", "enp1s0f1np1"},
        {"OMPI_MCA_btl_tcp_if_include", "192.168.100.0/24,192.168.101.0/24"},
        {"OMPI_MCA_oob_tcp_if_include", "192.168.100.0/24"},
        {"RAY_NODE_IP_ADDRESS", address},
        {"RAY_OVERRIDE_NODE_IP_ADDRESS", address},
        {"SGLANG_HOST_IP", address},
        {"TP_SOCKET_IFNAME", "enp1s0f1np1"},
        {"UCX_NET_DEVICES", "rocep1s0f1:1,roceP2p1s0f1:1"},
        {"VLLM_HOST_IP", address}};
    for (const auto& [variable, value] : variables) {
      Change change = with_impact(one_value("nccl_env/" + variable, {}, value, node.plan), Impact::kNeedsRelogin);
      if (report.carries_out()) node.outcomes[change.id] = Outcome::kDone;
      node.plan.changes.push_back(std::move(change));
    }
  }
  return report;
}

Report trouble_among_eight() {
  Report report = of_eight("plan", [](int number) { return sample_node(number); });
  for (NodeReport& node : report.nodes) {
    node.status = NodeStatus::kFailed;
    node.plan.blocked = {
        {{"systemd_unit", "docker.service"}, {ErrorCode::kRefused, "the unit is masked", {}, {}, "unmask it"}, {}}};
  }
  NodeReport& edited = report.nodes[2];
  edited.plan.changes = {
      sample_change("sysctl/net.core.somaxconn", Action::kUpdate, {{"running", 128, 8192}}, Origin::kDrift)};
  edited.plan.after_steps[edited.plan.changes[0].id] = Value::map({{"persistent", 8192}, {"running", 8192}});
  NodeReport& gone = report.nodes[4];
  gone = sample_node(5, NodeStatus::kUnreachable);
  gone.error = Error{ErrorCode::kUnreachable, "connect to port 22", {"node spark-05"}, 113, "is it switched on?"};
  return report;
}

Report removals_on_eight() { return of_eight("plan", node_with_removals); }

}  // namespace sparkplan::testing
