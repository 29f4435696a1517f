#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/fleet/session/fleet_session.h"
#include "engine/model/cluster.h"
#include "engine/remote/programs/agent_client.h"
#include "engine/wire/history_messages.h"
#include "engine/wire/measure_messages.h"

/// The earlier measurements of `verify`, as the nodes keep them.
namespace sparkplan {

/// The kinds of measurements that a run is summed up by.
enum class Figure : std::uint8_t { kTcp, kRdma, kLatency, kGpu, kNccl, kStorage, kNcclLatency };
/// "tcp", "rdma", "latency", "gpu", "nccl", "storage", "nccl_latency".
std::string_view to_string(Figure figure);
/// "Gb/s", "GB/s" or "us".
std::string_view unit_of(Figure figure);
const std::vector<Figure>& all_figures();
/// Pure. The kind that the id of a stored check belongs to: "rdma/spark-01/spark-02/A/latency". Nothing for other ids.
std::optional<Figure> figure_of(std::string_view id);

/// Pure. True for the id of a run with its time. A node could write anything in its place.
bool is_past_run(const std::string& run);

/// Pure. True for a number that a run can have measured. A node stores no others, but could report any.
bool is_measured(double value);

/// The stored measurements of one node.
struct NodeMeasurements {
  std::string node;
  std::optional<Error> error = {};  ///< It could not be read.
  bool applied = true;              ///< False: sparkplan was never applied there, so it keeps nothing.
  MeasurementHistoryReply measured = {};
  std::vector<JournaledRun> runs = {};  ///< From its journals; empty if those could not be read.
};

/// Asks the selected nodes, all at once. Replaces an agent of another build, and writes nothing else.
std::vector<NodeMeasurements> read_measurements(const Cluster& cluster, const RunOptions& options);

/// Asks one open agent. Without its journals, the answer has no runs. Errors: those of AgentClient::call().
Result<void> read_measurements(AgentClient& client, NodeMeasurements& answer);

/// By name: "kernel", "nccl".
using Versions = std::map<std::string, std::string>;

/// A stored value.
struct PastValue {
  double value = 0;
  std::string run = {};  ///< The id of the run. Empty: an older version stored the value.
  /// Of the node, in that run: all values of the run share them. Null: not known.
  std::shared_ptr<const Versions> versions = {};
};

/// A value that is another one than before.
struct ValueChange {
  std::size_t at = 0;   ///< The place of the first value after it.
  double before = 0;    ///< The median of the values before it ...
  double after = 0;     ///< ... and of those after it.
  bool lasting = true;  ///< False: the newest value alone differs.
  bool worse = false;
  /// The runs and versions between the last value before it and the first one after it, on the nodes of the check:
  /// "apply by anna@laptop, 3 changes, 2026-03-12T14:00:00Z, on spark-01", "kernel 6.11 -> 6.14 on spark-01". They are
  /// no proof of a cause.
  std::vector<std::string> beside = {};
};

/// The values of one check that one node keeps, oldest first.
struct CheckHistory {
  std::string id;
  std::string node;
  std::vector<PastValue> values;  ///< Never empty.
  std::optional<ValueChange> change = {};
};

/// Pure. Either a change that has lasted for two values or more, which explains most of the differences: three values
/// or more before it, medians that differ by more than a tenth and by more than four times the usual distance from
/// them. Or a newest value that is slower than the median of three earlier ones or more (is_slower()), also after a
/// change for the better. With `less_is_better` the values are times.
std::optional<ValueChange> change_in(const std::vector<double>& values, bool less_is_better);

/// Pure. By id. Left out are ids that are no check of a node of this cluster, and numbers that are no measurement.
std::vector<CheckHistory> check_histories(const Cluster& cluster, const std::vector<NodeMeasurements>& nodes);

/// The worst value of one kind in one run.
struct RunFigure {
  double value = 0;
  std::string check;  ///< Its id.
};

/// One run of `verify`, on all nodes that keep values of it.
struct PastRun {
  std::string run;
  std::vector<std::string> nodes;  ///< Sorted.
  std::map<Figure, RunFigure> figures;
};

/// Pure. Newest first. Values without the id of a run belong to none.
std::vector<PastRun> past_runs(const std::vector<CheckHistory>& checks);

}  // namespace sparkplan
