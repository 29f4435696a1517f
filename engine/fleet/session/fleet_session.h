#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/fleet/session/cluster_secrets.h"
#include "engine/fleet/session/fan_out.h"
#include "engine/fleet/session/selection.h"
#include "engine/fleet/session/shared_rosters.h"
#include "engine/model/cluster.h"
#include "engine/plan/report.h"
#include "engine/plan/roster.h"
#include "engine/remote/programs/agent_client.h"
#include "engine/resource/registry.h"

namespace sparkplan {

/// A node's part in the progress display.
enum class Activity : std::uint8_t {
  kWorking,
  kWaiting,  ///< For the other nodes, or finished.
  kFailed,   ///< It takes no further part in the run.
};

struct RunOptions {
  std::string command = "plan";  ///< For the lock, the audit line and the report.
  std::size_t workers = 16;
  std::chrono::milliseconds heartbeat = kHeartbeat;  ///< Between messages to a node that waits for slower ones.
  AgentOptions agent;
  Selection selection;
  std::string exclusion = "--exclude";  ///< For way_without().
  std::stop_token stop;
  /// Called from several threads with a node's current step. The text is never empty.
  std::function<void(const std::string& node, std::string_view doing, Activity activity)> progress;
  /// An agent ends after that time without a request; FactsRequest::patience_ms. Every node then gets messages each
  /// `heartbeat` while nodes are worked on. 0: an hour, without that.
  std::chrono::milliseconds agent_patience{0};
  bool extended = false;  ///< Also reads Facts::extended.
  /// --yes-prune: members that the file no longer names are contacted, and an apply releases them.
  bool contact_departing = false;
  /// The values of secrets. Null in commands that read none: they compare with what was applied last.
  std::shared_ptr<const ClusterSecrets> secrets = nullptr;
  /// How findings show a time of a node, such as "2026-03-01T12:00:00Z". Empty: unchanged.
  std::function<std::string(const std::string& utc)> shown_time = {};
  /// The time of all questions to the user so far. It is no part of Report::duration. Empty: none.
  std::function<std::chrono::steady_clock::duration()> time_asking = {};
};

/// The purpose of a session beyond reading facts.
struct SessionPurpose {
  bool plans = false;         ///< Reads the managed resources together with the facts.
  bool writes = false;        ///< Moves a damaged manifest out of the way.
  bool members_only = false;  ///< Skips nodes that are not members, and installs no agent there.
  std::string release = {};   ///< `release NODE`: only this member leaves. Empty: no such restriction.
  bool forget = false;        ///< `release NODE --forget`: that member is not contacted and leaves the roster.
};

/// One node in a session.
struct FleetNode {
  FleetNode(const NodeSpec& node, std::size_t at) : spec(&node), place(at) {}
  const std::string& name() const { return spec->name.str(); }
  /// It takes part in the run.
  bool active() const { return !skipped && !not_contacted && !error && !released && !forgotten; }
  /// Frees the managed resources in `known`: many megabytes, that a next reply replaces or that nothing reads any more.
  void drop_managed();

  const NodeSpec* spec;
  std::size_t place;  ///< In FleetSession::nodes(), and in the node lists of all later phases.
  std::optional<AgentClient> client;
  std::optional<Error> error;  ///< The node takes no further part in the run.
  bool skipped = false;        ///< maintenance, or not selected.
  bool leaving = false;        ///< No longer in the file: its earlier state is restored.
  bool not_contacted = false;  ///< Leaving, and without consent to contact it in this run.
  bool released = false;       ///< Nothing of sparkplan is left on the node.
  bool forgotten = false;      ///< Leaves the roster without contact, and keeps its configuration.
  /// For a leaving node that only the roster names: the identity that its machine has to prove.
  std::optional<RosterEntry> departed;
  FactsReply known;  ///< Without the roster in its manifest.
  /// The manifest's roster, shared by all nodes that have the same; empty without a manifest.
  std::shared_ptr<const Roster> roster;
  std::string roster_digest;     ///< Offered to the node in later requests; empty if it is not known.
  bool knows_no_offers = false;  ///< Its agent is of an older version, which ends at an offer.
  RunPurpose lock_purpose;       ///< Sent with the lock request.
};

/// The identity of the machine behind a connected node, as this run has seen it.
Machine machine_of(const FleetNode& node);

/// Connections to the nodes of a cluster, with their facts, exports, locks and roster. All nodes are handled at once.
/// The failure of one node excludes only that node.
class FleetSession {
 public:
  FleetSession(const Cluster& cluster, const Registry& registry, RunOptions options, SessionPurpose purpose = {});
  FleetSession(const FleetSession&) = delete;
  FleetSession& operator=(const FleetSession&) = delete;
  ~FleetSession() = default;

  /// Connects to each node without a connection and reads its facts. Installs agents as RunOptions::agent says.
  void open();
  /// Decides by majority which roster is valid. Refuses nodes of other clusters, and nodes whose machine is another
  /// member.
  void find_roster();
  /// find_roster(). Then adds members that the file no longer names, with connections if the user consented, and
  /// excludes machines that are in the file twice.
  void find_members();
  /// Adds a node that is to be released. Invalidates no reference to other nodes.
  FleetNode& add_leaving(NodeSpec spec);
  /// Reads the facts, the exports and the managed resources again. Excludes a node whose machine-id has changed.
  void refresh();
  /// The request for facts while a plan is carried out. It asks only for exports that must be unique in the cluster;
  /// learn() keeps the others.
  FactsRequest second_request(const FleetNode& node) const;
  /// Errors: those of checked(); kRefused if the machine-id has changed.
  Result<void> learn(FleetNode& node, FactsReply reply);

  /// Locks all nodes or none, within `timeout`. False: a node is locked by another run, and its error says so.
  bool lock_all(std::chrono::milliseconds timeout);
  void unlock_all();
  Result<void> lock(FleetNode& node) const { return node.client->lock(holder_, node.lock_purpose); }

  /// Calls `work(item)` for the items of all active nodes, many at a time. `items` are in the order of nodes(). An
  /// exception excludes only that node.
  template <class Items, class Work>
  void on_each(Items& items, Work work) {
    on_each_node([&](FleetNode& node) { work(items[node.place]); });
  }
  /// As on_each(), for all items at the same time. A node that waits for slower ones is given to `keep(item)` every
  /// `heartbeat`, by its own thread, in place of keep_alive().
  template <class Items, class Work, class Keep>
  void on_all_at_once(Items& items, Work work, Keep keep, std::chrono::milliseconds heartbeat) {
    on_each_node(
        nodes_.size(), [&](FleetNode& node) { work(items[node.place]); },
        [&](FleetNode& node) { keep(items[node.place]); }, heartbeat);
  }
  /// Tells the agent that the run goes on. A node that does not answer is excluded.
  void keep_alive(FleetNode& node) const;
  /// As on_each(), for work without requests: one thread per processor. Locked nodes are kept alive meanwhile.
  template <class Items, class Work>
  void compute_each(Items& items, Work work) {
    compute_each_node([&](FleetNode& node) { work(items[node.place]); });
  }
  /// Calls `work(node)`. An exception excludes the node.
  void work_on(FleetNode& node, const std::function<void(FleetNode&)>& work) const;
  /// Excludes the node and closes its connection. That ends the agent and releases its lock.
  void give_up(FleetNode& node, Error error) const;
  void give_up(FleetNode& node, ErrorCode code, std::string message, std::string hint = {}) const {
    give_up(node, Error{code, std::move(message), {}, std::nullopt, std::move(hint)});
  }
  void show(const FleetNode& node, std::string_view doing, Activity activity = Activity::kWorking) const;
  /// Adds a finding that is reported once, regardless of later plans.
  void remark(Diagnostic remark) { remarks_.push_back(std::move(remark)); }
  void remark(const FleetNode& node, Severity severity, std::string code, std::string message, std::string hint = {});

  const std::deque<FleetNode>& nodes() const { return nodes_; }
  std::deque<FleetNode>& nodes() { return nodes_; }
  const Cluster& cluster() const { return cluster_; }
  const Registry& registry() const { return registry_; }
  const RunOptions& options() const { return options_; }
  bool stop_requested() const { return options_.stop.stop_requested(); }
  bool any_error() const;
  /// The id of this run. Empty if it could not be made: open() then excludes every node.
  const std::string& run() const { return run_; }
  const LockHolder& holder() const { return holder_; }
  /// Types whose exports every node reports, even without the section.
  const std::set<std::string>& exported_everywhere() const { return exported_everywhere_; }
  /// The exports by node. A node that is excluded or has an error exports nothing, as if it had not answered. Only the
  /// types of exported_everywhere() stay, marked as outdated: their content counts, their absence proves nothing.
  std::map<std::string, NodeExports> exports() const;
  /// The roster that most of the manifests agree on.
  const Roster& roster() const { return roster_; }
  /// roster(), without what one manifest alone says of other machines: the roster that an apply may continue.
  const Roster& roster_to_record() const { return roster_to_record_; }
  /// The uuids in the manifests of this cluster, when find_roster() read them, with the number of manifests: more than
  /// one uuid if it was begun twice.
  const std::map<std::string, std::size_t>& cluster_ids() const { return cluster_ids_; }
  /// False if half of the manifests or fewer have the uuid of roster(). Also if fewer than two name the cluster, and
  /// nodes of the file were not read. Later runs may then find another uuid.
  bool uuid_is_agreed() const { return uuid_is_agreed_; }
  /// The uuid in the node's manifest, if it is one of cluster_ids(); else empty.
  std::string accepted_uuid(const FleetNode& node) const;
  /// Departed members that only one manifest lists. That manifest keeps them, without further consequence.
  const std::vector<RosterEntry>& single_witness() const { return single_witness_; }
  /// The members that take part. No machine of a leaving node is among them.
  Machines machines() const;
  /// The rosters in the manifests of the nodes that take part, except departing ones that only the roster names.
  Rosters rosters() const;

  /// The current result. `describe` makes the report of one node, `findings` come before those of the session.
  Report report(const std::function<NodeReport(const FleetNode&)>& describe,
                const std::vector<Diagnostic>& findings) const;
  /// The result of a session without plans.
  Report report() const;

 private:
  std::chrono::steady_clock::duration time_asking() const;
  void on_each_node(const std::function<void(FleetNode&)>& work);
  void on_each_node(std::size_t workers, const std::function<void(FleetNode&)>& work,
                    const std::function<void(FleetNode&)>& keep, std::chrono::milliseconds heartbeat);
  void compute_each_node(const std::function<void(FleetNode&)>& work);
  FactsRequest facts_request(const FleetNode& node) const;
  void open_node(FleetNode& node);
  /// Opens the connection and reads the facts. Errors: those of AgentClient::open() and checked().
  Result<void> connect(FleetNode& node, AgentOptions options);
  /// The digests of rosters that the node need not send. A leaving node receives none: its machine has to prove itself.
  std::vector<std::string> rosters_to_offer(const FleetNode& node) const;
  /// `known` is checked(). Errors: kBug.
  Result<void> take(FleetNode& node, FactsReply known);
  bool is_member(const FleetNode& node) const;

  bool is_ours(const FleetNode& node) const;
  bool consents_to_release(const std::string& name) const;
  void warn_of(std::vector<UnsupportedMember> unsupported);
  void warn_of_new_cluster();
  std::vector<std::string> unread_nodes() const;
  /// The members that the file no longer names. With SessionPurpose::forget also the one that a single manifest lists.
  std::vector<RosterEntry> leaving_members();
  void admit_departed_members();
  void settle_departed_member(FleetNode& node);
  void open_departing(FleetNode& node);
  Result<void> prove_identity(FleetNode& node);
  void refuse_other_members();
  void exclude_same_machines();

  const Cluster& cluster_;
  const Registry& registry_;
  RunOptions options_;
  SessionPurpose purpose_;
  std::string run_;
  std::optional<Error> no_run_id_;
  std::chrono::steady_clock::time_point started_;
  std::chrono::steady_clock::duration asked_before_;  ///< time_asking() at the beginning.
  LockHolder holder_;                                 ///< This controller, as the nodes' locks name it.
  std::set<std::string> exported_everywhere_;
  std::deque<NodeSpec> leaving_;  ///< Specs of nodes that the file does not name.
  std::deque<FleetNode> nodes_;
  SharedRosters shared_rosters_;
  Roster roster_;
  Roster roster_to_record_;
  std::map<std::string, std::size_t> cluster_ids_;
  bool uuid_is_agreed_ = false;
  std::vector<RosterEntry> single_witness_;
  std::vector<Diagnostic> remarks_;
};

/// Waits that long. A stop ends the wait at once and returns false.
bool pause_unless_stopped(std::chrono::milliseconds duration, const std::stop_token& stop);

}  // namespace sparkplan
