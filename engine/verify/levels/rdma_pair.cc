#include "engine/verify/levels/rdma_pair.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "engine/core/threads.h"
#include "engine/doctor/rdma_bands.h"

namespace sparkplan {
namespace {

// As `ib_write_bw -s 65536 -q 4`, with which public figures of this hardware were measured.
constexpr std::int64_t kMessageBytes = 65536;
constexpr std::int64_t kQueuePairs = 4;
constexpr std::int64_t kDurationMs = 1000;
constexpr std::int64_t kIterations = 1000;
/// The agent ends a measurement after 20 s more, and each wait for the other end after 5 s. The other end can cause
/// both. A latency has three waits for each message.
constexpr std::chrono::milliseconds kLongestWrite{kDurationMs + 25'000};
constexpr std::chrono::seconds kLongestLatency{35};

double gigabits(const RdmaWritten& written) {
  if (written.nanoseconds <= 0) return 0;
  return static_cast<double>(written.messages) * static_cast<double>(kMessageBytes) * 8 /
         static_cast<double>(written.nanoseconds);
}

/// One way, and its open ends.
struct OpenWay {
  const RdmaWay* way = nullptr;
  std::optional<RdmaEndpoint> from;
  std::optional<RdmaEndpoint> to;
  double best = 0;      ///< Gb/s of the better direction.
  std::string trouble;  ///< The check that failed on it; empty: it works.
};

/// The counter of one sending end.
struct Count {
  std::optional<std::int64_t> before;
  std::optional<std::int64_t> after;
  double payload = 0;
  double expected = 0;
};

class PairMeasurement {
 public:
  PairMeasurement(VerifyContext& context, const std::vector<RdmaWay>& ways)
      : context_(context), a_(context.nodes[ways.front().pair.from]), b_(context.nodes[ways.front().pair.to]) {
    for (const RdmaWay& way : ways) ways_.push_back({&way, std::nullopt, std::nullopt, 0, ""});
  }

  std::vector<Check> run() {
    for (OpenWay& way : ways_) {
      if (context_.stop.stop_requested() || !open(way)) continue;
      write_over({&way}, true);
      write_over({&way}, false);
      measure_latency(way);
    }
    std::vector<OpenWay*> all;
    for (OpenWay& way : ways_) all.push_back(&way);
    if (all.size() > 1) {
      write_over(all, true);
      write_over(all, false);
    }
    close();
    return std::move(checks_);
  }

 private:
  VerifyNode& end(bool forward, bool sender) { return forward == sender ? a_ : b_; }
  static const RdmaHalf& half_of(const OpenWay& way, bool forward, bool sender) {
    return forward == sender ? *way.way->from : *way.way->to;
  }
  const ObservedPort& place_of(const OpenWay& way, bool forward, bool sender) {
    const HalfPair& pair = way.way->pair;
    return forward == sender ? a_.halves[pair.from_half] : b_.halves[pair.to_half];
  }

  /// "A", or "both" for several ways.
  std::string label(const std::vector<OpenWay*>& ways) {
    if (ways.size() == 1) return a_.halves[ways.front()->way->pair.from_half].label();
    return ways.size() == 2 ? "both" : "all";
  }

  Check check_of(const std::vector<OpenWay*>& ways, bool forward, const std::string& what) {
    const auto& from = end(forward, true).name();
    const auto& to = end(forward, false).name();
    return skipped(Level::kRdma, {from, to}, label(ways) + "/" + what, "not measured");
  }

  /// Adds the reason of a failed call to the check.
  static void explain(Check& check, VerifyNode& node, const std::string& device, const Error& error) {
    if (note_if_lost(node, error)) {
      check.cause = node.name() + " is no longer connected: " + error.describe();
      return;
    }
    if (node.is_too_late()) return check.block(node.why_not_asked());
    const auto step = rdma_step_of(error);
    const auto row =
        rdma_failure_row(step ? to_string(*step) : std::string_view(), error, rdma_completion_status_of(error));
    diagnose(check, CheckStatus::kFail, row, node.name() + ", " + device + ": " + error.describe());
  }

  RdmaPath path_of(const OpenWay& way) {
    RdmaPath path;
    const auto known = [](const VerifyNode& node, const RdmaHalf& half) {
      return is_dgx_spark(*node.facts) && !half.device->pci.empty();
    };
    path.known_hardware = known(a_, *way.way->from) && known(b_, *way.way->to);
    path.through_switch = context_.cluster.cables.empty();
    for (const bool sender : {true, false}) {
      const RdmaHalf& half = half_of(way, true, sender);
      add_end(path, *half.port, *half.device, place_of(way, true, sender).link);
    }
    return path;
  }

  std::optional<double> wanted() const {
    constexpr double kGiga = 1e9;
    if (!context_.options.rdma_half) return std::nullopt;
    return *context_.options.rdma_half / kGiga;
  }

  bool open(OpenWay& way) {
    Check check = check_of({&way}, true, "bandwidth");
    if (const Blocker why = in_the_way({})) check.block(why);
    const auto opened = [&](bool first, std::optional<RdmaEndpoint>& endpoint) {
      VerifyNode& node = end(true, first);
      const RdmaHalf& half = half_of(way, true, first);
      const ObservedPort& place = place_of(way, true, first);
      RdmaOpenRequest request{half.device->name, half.port->number, place.interface,        place.address,
                              kQueuePairs,       kMessageBytes,     RdmaOpenRequest().depth};
      auto reply = node.ask(request);
      const bool routed =
          half.port->link_layer == "Ethernet" || half_of(way, true, !first).port->link_layer == "Ethernet";
      if (reply) {
        auto expected = check_endpoint(*reply, routed, place.address, first ? way.to : way.from);
        if (!expected) reply = failure(std::move(expected).error());
      }
      if (reply) endpoint = *reply;
      if (!reply) explain(check, node, half.device->name, reply.error());
      return reply.has_value();
    };
    const auto connected = [&](bool first, const RdmaEndpoint& own, const RdmaEndpoint& peer) {
      VerifyNode& node = end(true, first);
      const auto reply = node.ask(RdmaConnectRequest{own.session, peer});
      if (!reply) explain(check, node, half_of(way, true, first).device->name, reply.error());
      return reply.has_value();
    };
    if (askable() && opened(true, way.from) && opened(false, way.to) && connected(true, *way.from, *way.to) &&
        connected(false, *way.to, *way.from)) {
      return true;
    }
    way.trouble = check.id;
    checks_.push_back(std::move(check));
    return false;
  }

  bool askable() const { return a_.can_be_paired() && b_.can_be_paired(); }

  /// Why these ways cannot be measured; empty if they can.
  Blocker in_the_way(const std::vector<OpenWay*>& ways) const {
    if (context_.stop.stop_requested()) return {"stopped"};
    if (!a_.can_be_paired()) return a_.why_not_paired();
    if (!b_.can_be_paired()) return b_.why_not_paired();
    for (const OpenWay* way : ways) {
      if (!way->trouble.empty()) return {way->trouble + " was not measured"};
    }
    return {};
  }

  /// The bytes that the sender of a way has sent so far; nothing if the device does not count them.
  std::optional<std::int64_t> sent_bytes(const OpenWay& way, bool forward) {
    const RdmaHalf& half = half_of(way, forward, true);
    const auto counters =
        end(forward, true)
            .ask(RdmaCountersRequest{half.device->name, half.port->number, place_of(way, forward, true).interface});
    if (!counters) {
      (void)note_if_lost(end(forward, true), counters.error());
      return std::nullopt;
    }
    // The interface of a software device counts its bytes.
    if (!counters->sent_bytes && half.device->pci.empty()) return counters->interface_sent_bytes;
    return counters->sent_bytes;
  }

  /// Measures the bandwidth in one direction over one way or several at once, and the bytes that the devices counted
  /// meanwhile.
  void write_over(const std::vector<OpenWay*>& ways, bool forward) {
    Check bandwidth = check_of(ways, forward, "bandwidth");
    bandwidth.text = "RDMA writes of 64 KiB, " + std::to_string(kQueuePairs) + " queue pairs" +
                     (ways.size() > 1 ? " per half, all halves at once" : "");
    Check counters = check_of(ways, forward, "counters");
    if (const auto why = in_the_way(ways)) {
      bandwidth.block(why);
      checks_.push_back(std::move(bandwidth));
      return;
    }
    VerifyNode& sender = end(forward, true);
    context_.progress(sender.name(), "writing over RDMA to " + end(forward, false).name());
    context_.progress(end(forward, false).name(), "receiving RDMA writes from " + sender.name());
    RdmaWriteRequest request{{}, kDurationMs};
    std::vector<Count> counts(ways.size());
    for (std::size_t i = 0; i < ways.size(); ++i) {
      request.sessions.push_back(forward ? ways[i]->from->session : ways[i]->to->session);
      counts[i].before = sent_bytes(*ways[i], forward);
    }
    const auto reply = sender.ask(request, kLongestWrite);
    if (!reply) {
      explain(bandwidth, sender, half_of(*ways.front(), forward, true).device->name, reply.error());
      for (OpenWay* way : ways) way->trouble = bandwidth.id;
    } else if (judge_written(ways, forward, *reply, counts, bandwidth)) {
      for (std::size_t i = 0; i < ways.size(); ++i) counts[i].after = sent_bytes(*ways[i], forward);
      judge_counts(ways, forward, counts, counters);
      checks_.push_back(std::move(bandwidth));
      checks_.push_back(std::move(counters));
      return;
    }
    checks_.push_back(std::move(bandwidth));
  }

  /// False when a way broke.
  bool judge_written(const std::vector<OpenWay*>& ways, bool forward, const RdmaWriteReply& reply,
                     std::vector<Count>& counts, Check& check) {
    double sum = 0;
    double best = 0;
    for (std::size_t i = 0; i < ways.size(); ++i) {
      const auto& written = reply.results[i];
      if (!written) {
        ways[i]->trouble = check.id;
        explain(check, end(forward, true), half_of(*ways[i], forward, true).device->name, written.error());
        return false;
      }
      counts[i].payload = static_cast<double>(written->messages * kMessageBytes);
      counts[i].expected =
          static_cast<double>(bytes_on_wire(written->messages, kMessageBytes, *ways[i]->from, *ways[i]->to));
      sum += gigabits(*written);
      best = std::max(best, ways[i]->best);
    }
    RdmaPath path = path_of(*ways.front());
    for (const OpenWay* way : ways) path.known_hardware = path.known_hardware && path_of(*way).known_hardware;
    const auto judgement = ways.size() == 1 ? judge_half_bandwidth(sum, path, wanted())
                                            : judge_bandwidth_at_once(sum, best, path, wanted());
    if (ways.size() == 1) ways.front()->best = std::max(ways.front()->best, sum);
    note(check, sum, "Gb/s", judgement, end(forward, true).name() + " to " + end(forward, false).name());
    return true;
  }

  static void note(Check& check, double value, const std::string& unit, const Judgement& judgement,
                   const std::string& where) {
    check.pass(check.text);
    check.fix.clear();
    check.value = value;
    check.unit = unit;
    check.threshold = judgement.threshold;
    if (judgement.row) diagnose(check, judgement.status, judgement.row, where);
  }

  /// The worst way decides: another way does not make up for a counter that has not moved.
  void judge_counts(const std::vector<OpenWay*>& ways, bool forward, const std::vector<Count>& counts, Check& check) {
    constexpr double kPercent = 100;
    std::optional<std::pair<CheckStatus, double>> worst;
    for (std::size_t i = 0; i < ways.size(); ++i) {
      const Count& count = counts[i];
      const auto& device = half_of(*ways[i], forward, true).device->name;
      check.text += (check.text.empty() ? "" : ", ") + device;
      if (!count.before || !count.after) {
        check.status = CheckStatus::kSkip;
        check.cause = device + " does not count bytes";
        if (!end(forward, true).can_be_asked()) check.block(end(forward, true).why_not_asked());
        check.fix.clear();
        return;
      }
      const auto counted = static_cast<double>(*count.after - *count.before);
      const double part = count.expected > 0 ? kPercent * counted / count.expected : 0;
      check.text += " sent " + std::to_string(*count.after - *count.before) + " bytes";
      const auto judgement = judge_counted_bytes(counted, count.payload, count.expected);
      // A failure is worse than a warning. With the same status, the smaller part is worse.
      const bool worse =
          !worst || judgement.status > worst->first || (judgement.status == worst->first && part < worst->second);
      if (!worse) continue;
      worst = std::pair(judgement.status, part);
      note(check, part, "%", judgement, end(forward, true).name() + ", " + device);
    }
    check.text += ways.size() == 1 ? ", relative to payload and headers" : ", lowest relative to payload and headers";
  }

  /// Measures both ends at the same time, the second end in another thread.
  void measure_latency(OpenWay& way) {
    Check check = check_of({&way}, true, "latency");
    check.text = "RDMA writes of 2 bytes, half a round trip";
    if (const auto why = in_the_way({&way})) {
      check.block(why);
      checks_.push_back(std::move(check));
      return;
    }
    context_.progress(a_.name(), "measuring the latency to " + b_.name());
    Result<RdmaLatencyReply> answering;
    {
      const auto other = start_thread([&] {
        answering = b_.ask(RdmaLatencyRequest{way.to->session, false, kIterations}, kLongestLatency);
      });
      const auto measure = [&]() -> Result<RdmaLatencyReply> {
        if (!other) return tl::unexpected<Error>(other.error());
        return a_.ask(RdmaLatencyRequest{way.from->session, true, kIterations}, kLongestLatency);
      };
      judge_latency_of(way, measure(), check);
    }
    if (!answering && check.status == CheckStatus::kPass) {
      explain(check, b_, way.way->to->device->name, answering.error());
      way.trouble = check.id;
    }
    checks_.push_back(std::move(check));
  }

  void judge_latency_of(OpenWay& way, const Result<RdmaLatencyReply>& reply, Check& check) {
    constexpr double kMicro = 1000;
    if (!reply) {
      explain(check, a_, way.way->from->device->name, reply.error());
      way.trouble = check.id;
      return;
    }
    const double typical = static_cast<double>(reply->typical_ns) / kMicro;
    const auto tenths = [](std::int64_t ns) {
      return std::to_string(ns / 1000) + "." + std::to_string(ns / 100 % 10) + " us";
    };
    check.text += " (minimum " + tenths(reply->minimum_ns) + ", p99 " + tenths(reply->p99_ns) + ")";
    note(check, typical, "us", judge_latency(typical, path_of(way)), a_.name() + " and " + b_.name());
  }

  void close() {
    const auto close_on = [&](VerifyNode& node, bool first) {
      RdmaCloseRequest request;
      for (const OpenWay& way : ways_) {
        const auto& endpoint = first ? way.from : way.to;
        if (endpoint) request.sessions.push_back(endpoint->session);
      }
      if (request.sessions.empty() || !node.can_be_asked()) return;
      if (const auto closed = node.ask(request); !closed) (void)note_if_lost(node, closed.error());
    };
    close_on(a_, true);
    close_on(b_, false);
  }

  VerifyContext& context_;
  VerifyNode& a_;
  VerifyNode& b_;
  std::vector<OpenWay> ways_;
  std::vector<Check> checks_;
};

}  // namespace

std::vector<Check> measure_rdma(VerifyContext& context, const std::vector<RdmaWay>& ways) {
  return PairMeasurement(context, ways).run();
}

}  // namespace sparkplan
