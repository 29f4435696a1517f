#include "engine/verify/levels/nccl_checks.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "engine/core/bounded_text.h"
#include "engine/core/text.h"
#include "engine/doctor/nccl_bands.h"
#include "engine/verify/nccl_choice.h"

namespace sparkplan {
namespace {

constexpr double kBitsPerGigabyte = 8e9;
constexpr double kMicro = 1e6;
constexpr std::string_view kLatencyCheck = "latency";

RowId row_of(RankFault fault) {
  switch (fault) {
    case RankFault::kNoDriver:
    case RankFault::kNoGpu:
      return "nccl-no-gpu";
    case RankFault::kNoLibrary:
      return "nccl-no-library";
    case RankFault::kNotNccl:
      return "nccl-not-a-library";
    case RankFault::kLibraryTooOld:
      return "nccl-too-old";
    case RankFault::kMemory:
      return "nccl-memory";
    case RankFault::kCuda:
      return "nccl-cuda-error";
    case RankFault::kPeer:
      return "nccl-peer-gone";
    case RankFault::kNccl:
    case RankFault::kProtocol:
      break;
  }
  return "nccl-error";
}

RowId row_of(const NcclFailure& failure) {
  switch (failure.trouble) {
    case NcclTrouble::kFault:
      return row_of(failure.fault.value_or(RankFault::kProtocol));
    case NcclTrouble::kEnded:
      return "nccl-rank-ended";
    case NcclTrouble::kMixedVersions:
      return "nccl-mixed-versions";
    case NcclTrouble::kSilent:
      if (failure.phase == NcclPhase::kJoin) return "nccl-join-hangs";
      return failure.phase == NcclPhase::kRun ? RowId("nccl-run-hangs") : "nccl-load-hangs";
    case NcclTrouble::kConnection:
    case NcclTrouble::kStopped:
      break;
  }
  return "nccl-not-started";
}

/// Missing hardware or software is no fault, unless it is declared: a DGX Spark with a section `nccl` needs both.
bool is_absent(const NcclFailure& failure, const NcclGround& ground) {
  if (failure.trouble == NcclTrouble::kStopped) return true;
  if (ground.sparks && ground.nccl_declared) return false;
  if (failure.fault == RankFault::kNoDriver || failure.fault == RankFault::kNoGpu) return true;
  return failure.fault == RankFault::kNoLibrary && !ground.library_declared && ground.image.empty();
}

/// True if the error itself is the cause. The row's cause would repeat it, or guess at what the error knows.
bool names_the_cause(const NcclFailure& failure) {
  if (failure.trouble == NcclTrouble::kConnection) return true;
  return failure.fault == RankFault::kNoDriver || failure.fault == RankFault::kNoGpu ||
         failure.fault == RankFault::kNoLibrary || failure.fault == RankFault::kNotNccl;
}

void put_failure(const NcclFailure& failure, const NcclGround& ground, Check& check) {
  std::string details = "on " + ground.name_of(failure.place) + ": " + failure.error.describe();
  for (const auto& warning : failure.transport.warnings) details += "; NCCL: " + warning;
  // A rank's warnings can have 250 kB, and they are in the checks of all pairs of its node.
  details = cut_text(std::move(details), 2 * kLongestErrorMessage);
  if (failure.trouble == NcclTrouble::kStopped) {
    check.cause = "stopped";
    return;
  }
  const bool absent = is_absent(failure, ground);
  diagnose(check, absent ? CheckStatus::kSkip : CheckStatus::kFail, row_of(failure), details);
  if (names_the_cause(failure)) check.cause = details;
  const bool of_library = failure.fault == RankFault::kNoLibrary || failure.fault == RankFault::kNotNccl ||
                          failure.fault == RankFault::kLibraryTooOld;
  if (of_library && !ground.image.empty()) {
    check.fix = "name an image that has NCCL " + nccl_version_text(kOldestNccl) + " or later";
  }
  if (failure.trouble == NcclTrouble::kConnection && !failure.error.hint.empty()) check.fix = failure.error.hint;
}

void put_judgement(const Judgement& judgement, const std::string& details, Check& check) {
  if (judgement.row) diagnose(check, judgement.status, judgement.row, details);
}

/// "IB over rocep1s0f1, roceP2p1s0f1", "within the machine"
std::string way_text(const NcclTransport& transport) {
  if (transport.channels_ib == 0 && transport.channels_socket == 0 && transport.channels_local > 0) {
    return "within the machine";
  }
  std::string text = transport.network.empty() ? "a network that NCCL's log does not name" : transport.network;
  if (!transport.devices.empty()) text += " over " + join(transport.devices, ", ");
  return text;
}

/// A known value is for large messages of the operations it was measured with, and for one GPU per node.
std::optional<double> threshold_of(const NcclGround& ground, const NcclMeasurement& measured) {
  const bool known = measured.collective == Collective::kAllReduce || measured.collective == Collective::kAllGather;
  if (!known || measured.asked_bytes < kJudgedNcclBytes) return std::nullopt;
  if (ground.threshold) return *ground.threshold / kBitsPerGigabyte;
  if (!ground.sparks || !ground.ranks.empty()) return std::nullopt;
  return ground.ring && ground.nodes.size() > 2 ? kSparkRingBusBandwidth : kSparkBusBandwidth;
}

bool over_sockets(const NcclTransport& transport) {
  return transport.channels_socket > 0 || (transport.network == "Socket" && transport.channels_local == 0);
}

bool belongs(const NcclMeasurement& one, const NcclRequest& request) {
  return one.collective == request.collective &&
         std::find(request.sizes.begin(), request.sizes.end(), one.asked_bytes) != request.sizes.end();
}

std::vector<SizePoint> series_of(const NcclOutcome& outcome, const NcclRequest& request) {
  std::vector<SizePoint> series;
  if (request.sizes.size() < 2 && !request.in_place) return series;
  for (const NcclMeasurement& one : outcome.measured) {
    if (!belongs(one, request) || one.bytes <= 0) continue;
    series.push_back({one.bytes, one.seconds * kMicro, one.bandwidth.algorithm, one.bandwidth.bus, one.in_place});
  }
  const auto key = [](const SizePoint& point) { return std::pair(point.in_place, point.bytes); };
  std::ranges::stable_sort(series, [&](const SizePoint& a, const SizePoint& b) { return key(a) < key(b); });
  // Where memory is short, several sizes become the same one.
  const auto repeated = std::unique(series.begin(), series.end(),
                                    [&](const SizePoint& a, const SizePoint& b) { return key(a) == key(b); });
  series.erase(repeated, series.end());
  return series;
}

/// The least free memory limits all ranks, and one rank alone claims it.
std::string scarce_memory(const NcclOutcome& outcome, const NcclGround& ground) {
  const auto least = place_of_least_memory(outcome);
  if (!least || outcome.memory.size() != ground.rank_count()) return "free memory";
  return "the free memory that " + ground.name_of(*least) + " reports";
}

void put_wrong_data(const NcclMeasurement& measured, Check& check) {
  diagnose(check, CheckStatus::kFail, "nccl-wrong-data", wrong_data_text(measured));
}

/// A time has no known limit: it is compared with earlier runs.
void put_latency(const NcclMeasurement& measured, const NcclOutcome& outcome, Check& check) {
  check.pass(std::string(to_string(measured.collective)) + " of " + size_text(measured.bytes) + ", " +
             way_text(outcome.transports.at(0)) + ", time");
  check.value = measured.seconds * kMicro;
  if (measured.longest > 0) check.of_slowest = measured.longest * kMicro;
  check.unit = "us";
  if (measured.wrong > 0) put_wrong_data(measured, check);
}

/// "TCP on spark-02": the ranks that report it, unless all do. One rank's report fails the check of all.
std::string sockets_text(const NcclOutcome& outcome, const NcclGround& ground) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(outcome.transports.size(), ground.rank_count()); ++i) {
    if (over_sockets(outcome.transports[i])) names.push_back(ground.name_of(i));
  }
  return names.empty() || names.size() == ground.rank_count() ? "" : "TCP on " + fold_names(names);
}

/// "1 HCA on spark-02": the ranks that report the fewest devices, unless all do.
std::string devices_text(const NcclOutcome& outcome, const NcclGround& ground, std::size_t fewest) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(outcome.transports.size(), ground.rank_count()); ++i) {
    const NcclTransport& transport = outcome.transports[i];
    if (transport.channels_ib > 0 && transport.devices.size() == fewest) names.push_back(ground.name_of(i));
  }
  if (names.empty() || names.size() == ground.rank_count()) return "";
  return std::to_string(fewest) + (fewest == 1 ? " HCA on " : " HCAs on ") + fold_names(names);
}

void put_measurement(const NcclMeasurement& measured, const NcclOutcome& outcome, const NcclGround& ground,
                     Check& check) {
  NcclSeen seen{measured.bandwidth.bus, threshold_of(ground, measured), false, ground.hcas_wanted, 0,
                ground.rdma_passed};
  for (const auto& transport : outcome.transports) {
    seen.over_sockets = seen.over_sockets || over_sockets(transport);
    // NCCL may send small messages through one device.
    if (transport.channels_ib == 0 || measured.asked_bytes < kJudgedNcclBytes) continue;
    const auto used = transport.devices.size();
    seen.hcas_used = seen.hcas_used == 0 ? used : std::min(seen.hcas_used, used);
  }
  check.pass(size_text(measured.bytes));
  check.value = measured.bandwidth.bus;
  if (measured.longest > 0) check.of_slowest = measured.bandwidth.bus * measured.seconds / measured.longest;
  check.unit = "GB/s";
  check.threshold = seen.threshold;
  if (seen.threshold) check.warning_from = nccl_warning_from(*seen.threshold);
  // The value of a smaller size must not become the usual one: one node's claim of little memory is enough for it.
  check.reduced = measured.bytes > 0 && measured.asked_bytes / measured.bytes > 1;
  if (check.reduced) {
    check.text += " (limited by " + scarce_memory(outcome, ground) + ")";
  }
  check.text += ", " + way_text(outcome.transports.at(0)) + ", busbw";
  if (!measured.early.empty()) check.text += " (without the time of " + measured.early + ", which is too short)";
  // One node's claim of other hardware takes the known value from all.
  if (!seen.threshold && !ground.other_nodes.empty() && measured.asked_bytes >= kJudgedNcclBytes) {
    check.text +=
        " (without a known value: " + fold_names(ground.other_nodes) + " reports other hardware than a DGX Spark)";
  }
  if (measured.wrong > 0) return put_wrong_data(measured, check);
  const bool fewer = !seen.over_sockets && seen.hcas_used > 0 && seen.hcas_used < seen.hcas_wanted;
  const std::string who = fewer ? devices_text(outcome, ground, seen.hcas_used) : sockets_text(outcome, ground);
  put_judgement(judge_nccl_bandwidth(seen), who, check);
  const bool usual_ring = ground.sparks && ground.ring && ground.nodes.size() > 2 && !ground.threshold;
  if (usual_ring && check.status == CheckStatus::kPass && measured.bandwidth.bus < kUsualRingBusBandwidth) {
    check.text += fmt::format(" (most rings reach {:.1f} GB/s)", kUsualRingBusBandwidth);
  }
  // Smaller messages are slower by nature, and the threshold is for large ones.
  const bool smaller = measured.bytes < measured.asked_bytes;
  if (smaller && check.status == CheckStatus::kFail) check.status = CheckStatus::kWarn;
}

/// The measurement that decides: wrong data if there is any, else the largest size out of place.
const NcclMeasurement* deciding(const NcclOutcome& outcome, const NcclRequest& request) {
  const NcclMeasurement* chosen = nullptr;
  for (const auto& one : outcome.measured) {
    if (!belongs(one, request)) continue;
    const bool larger = chosen == nullptr || (!one.in_place && one.bytes >= chosen->bytes);
    if (one.wrong > 0 || (larger && (chosen == nullptr || chosen->wrong == 0))) chosen = &one;
  }
  return chosen;
}

/// Sizes that short memory makes equal are measured once, for the smallest of them. Judged is the largest one: no claim
/// of little memory makes a slow network pass.
NcclMeasurement as_asked(NcclMeasurement measured, const NcclRequest& request) {
  if (measured.wrong == 0) measured.asked_bytes = std::max(measured.asked_bytes, request.sizes.back());
  return measured;
}

/// True if the run ended after the request's last measurement.
bool is_complete(const NcclOutcome& outcome, const NcclRequest& request) {
  if (!outcome.failure) return true;
  return std::any_of(outcome.measured.begin(), outcome.measured.end(), [&](const NcclMeasurement& one) {
    return belongs(one, request) && one.asked_bytes == request.sizes.back() && one.in_place == request.ends_in_place();
  });
}

std::string reason_without(const NcclRequest& request, const NcclOutcome& outcome, std::size_t ranks) {
  if (outcome.failure) return "the run ended earlier";
  const std::string operation(to_string(request.collective));
  if (!fits_ranks(request.collective, static_cast<int>(ranks))) {
    return operation + " needs a power of two of ranks, and there are " + std::to_string(ranks);
  }
  return "each size is too small for " + operation + " with " + std::to_string(ranks) + " ranks";
}

}  // namespace

Check check_of_node(const NcclOutcome& looked, const NcclGround& ground) {
  Check check = skipped(Level::kNccl, ground.nodes, "", "");
  if (looked.failure) {
    put_failure(*looked.failure, ground, check);
    return check;
  }
  const PreparedRank& rank = looked.prepared.at(0);
  check.pass(rank.gpu + ", CUDA driver " + std::to_string(rank.driver_version / 1000) + "." +
             std::to_string(rank.driver_version % 1000 / 10) + ", NCCL " + nccl_version_text(rank.nccl_version));
  if (!ground.library.empty()) check.text += " from " + ground.library;
  if (!ground.image.empty()) check.text += " from " + rank.library + " of image " + ground.image;
  const bool of_host = ground.library.empty() && ground.image.empty();
  if (!of_host && !ground.host_nccl.empty() && ground.host_nccl != nccl_version_text(rank.nccl_version)) {
    check.text += " (the host's is " + ground.host_nccl + ")";
  }
  if (!rank.python_library.empty()) check.text += ", Python programs may load " + rank.python_library;
  if (!rank.other_conf_lines.empty()) {
    check.text += ", /etc/nccl.conf also sets " + join(rank.other_conf_lines, ", ");
  }
  put_judgement(judge_nccl_version(rank.nccl_version, ground.sparks, ground.ring),
                "NCCL " + nccl_version_text(rank.nccl_version), check);
  return check;
}

Check check_of_operation(const std::string& group, const NcclRequest& request, const std::vector<std::string>& nodes,
                         const std::string& reason) {
  const std::string operation(request.latency ? kLatencyCheck : to_string(request.collective));
  if (group.empty()) return skipped(Level::kNccl, nodes, operation, reason);
  Check check = skipped(Level::kNccl, {}, group + "/" + operation, reason);
  check.nodes = nodes;
  return check;
}

std::vector<Check> checks_of_run(const std::string& group, const std::vector<NcclRequest>& requests,
                                 const NcclOutcome& outcome, const NcclGround& ground) {
  std::vector<Check> checks;
  bool explained = false;
  for (const auto& request : requests) {
    Check check =
        check_of_operation(group, request, ground.nodes, reason_without(request, outcome, ground.rank_count()));
    const NcclMeasurement* largest = deciding(outcome, request);
    if (largest != nullptr && (largest->wrong > 0 || is_complete(outcome, request))) {
      if (request.latency) {
        put_latency(*largest, outcome, check);
      } else {
        put_measurement(as_asked(*largest, request), outcome, ground, check);
      }
    } else if (outcome.failure && !explained) {
      check.text = "did not finish";
      put_failure(*outcome.failure, ground, check);
      explained = true;
    }
    check.series = series_of(outcome, request);
    check.one_off = ground.one_off;
    checks.push_back(std::move(check));
  }
  return checks;
}

namespace {

/// Both measurements of one size.
struct TableRow {
  const NcclMeasurement* out = nullptr;
  const NcclMeasurement* in = nullptr;
};

/// A rank can claim any time, so that a bandwidth has any number of digits.
std::string fixed(double number) {
  constexpr double kLargestFixed = 1e5;
  return number < kLargestFixed ? fmt::format("{:.2f}", number) : fmt::format("{:.2e}", number);
}

std::string cells_of(const NcclMeasurement* one) {
  if (one == nullptr) return fmt::format("{:>11}{:>9}{:>9}{:>8}", "", "", "", "");
  return fmt::format("{:>11.2f}{:>9}{:>9}{:>8}", one->seconds * kMicro, fixed(one->bandwidth.algorithm),
                     fixed(one->bandwidth.bus), one->wrong);
}

std::string table_of(Collective collective, const std::map<std::int64_t, TableRow>& rows, int ranks) {
  const bool in_place = std::any_of(rows.begin(), rows.end(), [](const auto& row) { return row.second.in != nullptr; });
  const auto names = fmt::format("{:>11}{:>9}{:>9}{:>8}", "time", "algbw", "busbw", "#wrong");
  const auto units = fmt::format("{:>11}{:>9}{:>9}", "(us)", "(GB/s)", "(GB/s)");
  std::string table =
      fmt::format("# {}, {} ranks, out of place{}\n", to_string(collective), ranks, in_place ? ", then in place" : "");
  table += fmt::format("#{:>12}{:>13}{:>8}{:>7}{}{}\n", "size", "count", "type", "iters", names, in_place ? names : "");
  table += fmt::format("#{:>12}{:>13}{:>8}{:>7}{}{}\n", "(B)", "(elements)", "", "", units,
                       in_place ? "        " + units : "");
  for (const auto& [bytes, row] : rows) {
    const auto count = collective_shape(collective, bytes, ranks).unit;
    const auto iterations = (row.out != nullptr ? row.out : row.in)->iterations;
    table += fmt::format("{:>13}{:>13}{:>8}{:>7}{}{}\n", bytes, count, "float", iterations, cells_of(row.out),
                         row.in != nullptr ? cells_of(row.in) : "");
  }
  return table;
}

}  // namespace

std::string nccl_table(const std::vector<NcclMeasurement>& measured, int ranks) {
  std::vector<Collective> order;
  std::map<Collective, std::map<std::int64_t, TableRow>> rows;
  for (const auto& one : measured) {
    if (!rows.contains(one.collective)) order.push_back(one.collective);
    TableRow& row = rows[one.collective][one.bytes];
    (one.in_place ? row.in : row.out) = &one;
  }
  std::string table;
  for (const Collective collective : order) table += table_of(collective, rows[collective], ranks);
  return table;
}

}  // namespace sparkplan
