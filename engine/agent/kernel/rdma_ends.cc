#include "engine/agent/kernel/rdma_ends.h"

#include <charconv>
#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "engine/agent/kernel/kernel_file.h"
#include "engine/agent/kernel/rdma_end.h"
#include "engine/core/threads.h"

namespace sparkplan {
namespace {

namespace fs = std::filesystem;

class VerbsEnds : public RdmaEnds {
 public:
  Result<RdmaEndpoint> open(const RdmaOpenRequest& request) override {
    SPARK_TRY(auto end, RdmaEnd::open(request, next_));
    const auto endpoint = end->endpoint();
    ends_.emplace(next_++, std::move(end));
    return endpoint;
  }

  Result<void> connect(const RdmaConnectRequest& request) override {
    SPARK_TRY(RdmaEnd* const end, find(request.session));
    return end->connect(request.peer);
  }

  Result<RdmaWriteReply> write(const RdmaWriteRequest& request) override {
    std::vector<RdmaEnd*> ends;
    for (const auto session : request.sessions) {
      SPARK_TRY(RdmaEnd* const end, find(session));
      ends.push_back(end);
    }
    RdmaWriteReply reply;
    reply.results.resize(ends.size());
    std::vector<std::jthread> at_work;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      auto started = add_thread(
          at_work, [&, i] { reply.results[i] = ends[i]->write(std::chrono::milliseconds(request.duration_ms)); });
      if (!started) reply.results[i] = failure(std::move(started).error());
    }
    at_work.clear();
    return reply;
  }

  Result<RdmaLatencyReply> measure_latency(const RdmaLatencyRequest& request) override {
    SPARK_TRY(RdmaEnd* const end, find(request.session));
    return end->measure_latency(request.begins, request.iterations);
  }

  void close(const RdmaCloseRequest& request) override {
    for (const auto session : request.sessions) ends_.erase(session);
  }

 private:
  Result<RdmaEnd*> find(std::int64_t session) {
    const auto found = ends_.find(session);
    if (found != ends_.end()) return found->second.get();
    return failure(ErrorCode::kNotFound, "there is no RDMA session " + std::to_string(session));
  }

  std::map<std::int64_t, std::unique_ptr<RdmaEnd>> ends_;
  std::int64_t next_ = 1;
};

std::optional<std::int64_t> number_in(const fs::path& path) {
  const std::string text = kernel_line(path);
  std::int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc() ? std::optional(number) : std::nullopt;
}

std::optional<std::int64_t> times(std::optional<std::int64_t> number, std::int64_t factor) {
  if (number) *number *= factor;
  return number;
}

/// As a single component of a path: a name from the wire must not lead elsewhere.
fs::path component(const std::string& name) {
  const fs::path path(name);
  return path.filename() == path && name != ".." ? path : fs::path("-");
}

}  // namespace

std::unique_ptr<RdmaEnds> make_rdma_ends() { return std::make_unique<VerbsEnds>(); }

RdmaCountersReply read_rdma_counters(const RdmaCountersRequest& request) {
  constexpr std::int64_t kWord = 4;
  const auto port =
      fs::path("/sys/class/infiniband") / component(request.device) / "ports" / std::to_string(request.port);
  RdmaCountersReply reply;
  reply.sent_bytes = times(number_in(port / "counters/port_xmit_data"), kWord);
  reply.received_bytes = times(number_in(port / "counters/port_rcv_data"), kWord);
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(port / "hw_counters", none)) {
    const auto name = entry.path().filename().string();
    const auto number = number_in(entry.path());
    if (number && name != "lifespan") reply.hardware.emplace(name, *number);
  }
  if (request.interface.empty()) return reply;
  const auto statistics = fs::path("/sys/class/net") / component(request.interface) / "statistics";
  reply.interface_sent_bytes = number_in(statistics / "tx_bytes");
  reply.interface_received_bytes = number_in(statistics / "rx_bytes");
  return reply;
}

}  // namespace sparkplan
