#include "engine/verify/levels/nccl_checks.h"

#include <fmt/core.h>

#include <algorithm>

#include "engine/core/text.h"
#include "engine/doctor/nccl_bands.h"

namespace sparkplan {
namespace {

constexpr double kBitsPerGigabyte = 8e9;

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
  return failure.fault == RankFault::kNoLibrary && !ground.library_declared;
}

/// True if the error itself is the cause. The row's cause would repeat it, or guess at what the error knows.
bool names_the_cause(const NcclFailure& failure) {
  if (failure.trouble == NcclTrouble::kConnection) return true;
  return failure.fault == RankFault::kNoDriver || failure.fault == RankFault::kNoGpu ||
         failure.fault == RankFault::kNoLibrary || failure.fault == RankFault::kNotNccl;
}

void put_failure(const NcclFailure& failure, const NcclGround& ground, Check& check) {
  std::string details = "on " + ground.nodes.at(failure.place) + ": " + failure.error.describe();
  for (const auto& warning : failure.transport.warnings) details += "; NCCL: " + warning;
  if (failure.trouble == NcclTrouble::kStopped) {
    check.cause = "stopped";
    return;
  }
  const bool absent = is_absent(failure, ground);
  diagnose(check, absent ? CheckStatus::kSkip : CheckStatus::kFail, row_of(failure), details);
  if (names_the_cause(failure)) check.cause = details;
  if (failure.trouble == NcclTrouble::kConnection && !failure.error.hint.empty()) check.fix = failure.error.hint;
}

void put_judgement(const Judgement& judgement, const std::string& details, Check& check) {
  if (judgement.row) diagnose(check, judgement.status, judgement.row, details);
}

std::string size_text(std::int64_t bytes) {
  constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;
  if (bytes % (kMebibyte * 1024) == 0) return std::to_string(bytes / kMebibyte / 1024) + " GiB";
  if (bytes % kMebibyte == 0) return std::to_string(bytes / kMebibyte) + " MiB";
  return std::to_string(bytes) + " bytes";
}

/// "IB over rocep1s0f1, roceP2p1s0f1", "within the machine"
std::string way_text(const NcclTransport& transport) {
  if (transport.channels_ib + transport.channels_socket == 0 && transport.channels_local > 0) {
    return "within the machine";
  }
  std::string text = transport.network.empty() ? "a network that NCCL's log does not name" : transport.network;
  if (!transport.devices.empty()) text += " over " + join(transport.devices, ", ");
  return text;
}

std::optional<double> threshold_of(const NcclGround& ground) {
  if (ground.threshold) return *ground.threshold / kBitsPerGigabyte;
  if (!ground.sparks) return std::nullopt;
  return ground.ring && ground.nodes.size() > 2 ? kSparkRingBusBandwidth : kSparkBusBandwidth;
}

bool over_sockets(const NcclTransport& transport) {
  return transport.channels_socket > 0 || (transport.network == "Socket" && transport.channels_local == 0);
}

std::vector<SizePoint> series_of(const NcclOutcome& outcome, const NcclRequest& request) {
  constexpr double kMicro = 1e6;
  std::vector<SizePoint> series;
  if (request.sizes.size() < 2) return series;
  for (const NcclMeasurement& one : outcome.measured) {
    if (one.collective != request.collective || one.bytes <= 0) continue;
    series.push_back({one.bytes, one.seconds * kMicro, one.bandwidth.algorithm, one.bandwidth.bus});
  }
  std::stable_sort(series.begin(), series.end(),
                   [](const SizePoint& a, const SizePoint& b) { return a.bytes < b.bytes; });
  // Where memory is short, several sizes become the same one.
  const auto repeated = std::unique(series.begin(), series.end(),
                                    [](const SizePoint& a, const SizePoint& b) { return a.bytes == b.bytes; });
  series.erase(repeated, series.end());
  return series;
}

/// The least free memory limits all ranks, and one rank alone claims it.
std::string scarce_memory(const NcclOutcome& outcome, const NcclGround& ground) {
  const auto& ranks = outcome.prepared;
  if (ranks.empty() || ranks.size() != ground.nodes.size()) return "free memory";
  const auto least = std::min_element(ranks.begin(), ranks.end(), [](const PreparedRank& a, const PreparedRank& b) {
    return a.memory_free_bytes < b.memory_free_bytes;
  });
  return "the free memory that " + ground.nodes[static_cast<std::size_t>(least - ranks.begin())] + " reports";
}

void put_measurement(const NcclMeasurement& measured, const NcclOutcome& outcome, const NcclGround& ground,
                     Check& check) {
  NcclSeen seen{measured.bandwidth.bus, threshold_of(ground), false, ground.hcas_wanted, 0, ground.rdma_passed};
  for (const auto& transport : outcome.transports) {
    seen.over_sockets = seen.over_sockets || over_sockets(transport);
    if (transport.channels_ib == 0) continue;
    const auto used = transport.devices.size();
    seen.hcas_used = seen.hcas_used == 0 ? used : std::min(seen.hcas_used, used);
  }
  check.pass(size_text(measured.bytes));
  check.value = measured.bandwidth.bus;
  check.unit = "GB/s";
  check.threshold = seen.threshold;
  if (measured.bytes > 0 && measured.bytes < measured.asked_bytes && measured.asked_bytes / measured.bytes > 1) {
    check.text += " (limited by " + scarce_memory(outcome, ground) + ")";
  }
  check.text += ", " + way_text(outcome.transports.at(0)) + ", busbw";
  if (measured.wrong > 0) {
    diagnose(check, CheckStatus::kFail, "nccl-wrong-data",
             std::to_string(measured.wrong) + " wrong elements, the first on " + measured.first_wrong);
    return;
  }
  put_judgement(judge_nccl_bandwidth(seen), "", check);
  const bool usual_ring = ground.sparks && ground.ring && ground.nodes.size() > 2 && !ground.threshold;
  if (usual_ring && check.status == CheckStatus::kPass && measured.bandwidth.bus < kUsualRingBusBandwidth) {
    check.text += fmt::format(" (most rings reach {:.1f} GB/s)", kUsualRingBusBandwidth);
  }
  // Smaller messages are slower by nature, and the threshold is for large ones.
  const bool smaller = measured.bytes < measured.asked_bytes;
  if (smaller && check.status == CheckStatus::kFail) check.status = CheckStatus::kWarn;
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
  if (!rank.other_conf_lines.empty()) {
    check.text += ", /etc/nccl.conf also sets " + join(rank.other_conf_lines, ", ");
  }
  put_judgement(judge_nccl_version(rank.nccl_version, ground.sparks, ground.ring),
                "NCCL " + nccl_version_text(rank.nccl_version), check);
  return check;
}

Check check_of_operation(const std::string& group, Collective collective, const std::vector<std::string>& nodes,
                         const std::string& reason) {
  const std::string operation(to_string(collective));
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
    Check check = check_of_operation(group, request.collective, ground.nodes, "the run ended earlier");
    const NcclMeasurement* largest = nullptr;
    for (const auto& one : outcome.measured) {
      if (one.collective != request.collective) continue;
      if (largest == nullptr || one.wrong > 0 || (largest->wrong == 0 && one.bytes >= largest->bytes)) largest = &one;
    }
    const bool came_to_its_end =
        largest != nullptr && (!outcome.failure || largest->asked_bytes == request.sizes.back());
    if (came_to_its_end || (largest != nullptr && largest->wrong > 0)) {
      put_measurement(*largest, outcome, ground, check);
    } else if (outcome.failure && !explained) {
      check.text = "did not finish";
      put_failure(*outcome.failure, ground, check);
      explained = true;
    }
    check.series = series_of(outcome, request);
    checks.push_back(std::move(check));
  }
  return checks;
}

std::string nccl_table(const std::vector<NcclMeasurement>& measured, int ranks) {
  std::string table;
  std::optional<Collective> heading;
  for (const auto& one : measured) {
    if (heading != one.collective) {
      heading = one.collective;
      table += fmt::format("# {}, {} ranks, out of place\n", to_string(one.collective), ranks);
      table += fmt::format("#{:>12}{:>13}{:>8}{:>7}{:>11}{:>9}{:>9}{:>8}\n", "size", "count", "type", "iters", "time",
                           "algbw", "busbw", "#wrong");
      table += fmt::format("#{:>12}{:>13}{:>8}{:>7}{:>11}{:>9}{:>9}\n", "(B)", "(elements)", "", "", "(us)", "(GB/s)",
                           "(GB/s)");
    }
    const auto count = collective_shape(one.collective, one.bytes, ranks).unit;
    table += fmt::format("{:>13}{:>13}{:>8}{:>7}{:>11.2f}{:>9.2f}{:>9.2f}{:>8}\n", one.bytes, count, "float",
                         one.iterations, one.seconds * 1e6, one.bandwidth.algorithm, one.bandwidth.bus, one.wrong);
  }
  return table;
}

}  // namespace sparkplan
