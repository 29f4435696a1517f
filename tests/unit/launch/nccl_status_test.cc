// NCCL's report of a job at its status port.
#include "engine/launch/nccl_status.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "engine/launch/job_output.h"
#include "engine/launch/job_run.h"
#include "tests/support/catch.h"
#include "tests/unit/job/programs.h"

namespace sparkplan {
namespace {

using Words = std::vector<std::string>;

// In the form of NCCL's documentation.
constexpr const char* kAnswer =
    "NCCL version 2.28.9 compiled with CUDA 13.0\n"
    "\n"
    "Communicators... (2.05s)\n"
    "=============\n"
    "\n"
    "Group     Comms     Nodes     Ranks     Status  Errors\n"
    "    0         1         2       1-2    RUNNING  INCOMPLETE\n"
    "\n"
    "Errors\n"
    "======\n"
    "\n"
    "DEAD\n"
    "  1 job process is considered dead (unreachable via the RAS network)\n"
    "  Process 3487984 on node 192.168.100.12 managing GPU 0\n"
    "\n"
    "#0-0 (cf264af53edbe986) INCOMPLETE\n"
    "  Missing communicator data from 1 rank\n"
    "\n"
    "Warnings\n"
    "========\n"
    "\n"
    "TIMEOUT\n"
    "  Encountered 2 communication timeouts\n";

/// A port of this machine that answers one question as NCCL does, and then closes the connection.
class StatusPort {
 public:
  StatusPort() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    REQUIRE(::bind(socket_, any, size) == 0);
    REQUIRE(::listen(socket_, 1) == 0);
    REQUIRE(::getsockname(socket_, any, &size) == 0);
    port = ntohs(address.sin_port);
    thread_ = std::jthread([this] { answer(); });
  }
  StatusPort(const StatusPort&) = delete;
  StatusPort& operator=(const StatusPort&) = delete;
  ~StatusPort() {
    end();
    ::close(socket_);
  }
  /// The question, once it was answered. Empty: it was not.
  std::string asked() {
    end();
    return answered_ ? asked_ : "";
  }

  int port = 0;

 private:
  static constexpr int kPatienceMs = 20'000;

  static bool is_readable(int descriptor) {
    pollfd waiting{descriptor, POLLIN, 0};
    return ::poll(&waiting, 1, kPatienceMs) > 0;
  }
  void answer() {
    if (!is_readable(socket_)) return;
    const int peer = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
    std::array<char, 256> buffer{};
    while (asked_.find('\n') == std::string::npos && is_readable(peer)) {
      const auto count = ::read(peer, buffer.data(), buffer.size());
      if (count <= 0) break;
      asked_.append(buffer.data(), static_cast<std::size_t>(count));
    }
    const std::string_view text = kAnswer;
    answered_ = ::send(peer, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
    ::close(peer);
  }
  void end() {
    if (thread_.joinable()) thread_.join();
  }

  int socket_;
  std::string asked_;
  bool answered_ = false;
  std::jthread thread_;
};

}  // namespace

TEST_CASE("NCCL's errors and warnings are one line each, and the rest of its answer is left out") {
  CHECK(nccl_faults_in(kAnswer) ==
        Words{"DEAD: 1 job process is considered dead (unreachable via the RAS network); Process 3487984 on node "
              "192.168.100.12 managing GPU 0",
              "#0-0 (cf264af53edbe986) INCOMPLETE: Missing communicator data from 1 rank",
              "TIMEOUT: Encountered 2 communication timeouts"});
  CHECK(nccl_faults_in("Communicators... (0.00s)\n=====\n\n    0   1   RUNNING  OK\n").empty());
  CHECK(nccl_faults_in("").empty());
  CHECK(nccl_faults_in("Errors\n======\n").empty());
}

TEST_CASE("an answer of anything else than NCCL gives few and short lines without control characters") {
  std::string flood = "Errors\n===\n";
  for (int i = 0; i < 10'000; ++i) flood += "\x1b[2J" + std::string(500, 'x') + "\n  " + std::string(500, 'y') + "\n";
  const auto faults = nccl_faults_in(flood);
  CHECK(faults.size() == 4);
  for (const std::string& fault : faults) {
    CHECK(fault.size() <= 300);
    CHECK(fault.find('\x1b') == std::string::npos);
  }
  CHECK(nccl_faults_in("  Errors\n  ===\n  a detail without a fault\n").empty());
}

TEST_CASE("the question reaches the port that NCCL_RAS_ADDR names, and no value becomes part of its script") {
  const auto script_of = [](const std::string& address) {
    return nccl_status_question(1, {{"NCCL_RAS_ADDR", address}}).argv;
  };
  const auto usual = nccl_status_question(1, {}).argv;
  REQUIRE(usual.size() == 6);
  CHECK(usual[5] == "28028");
  for (const char* const address : {"$(id):1", "10.0.0.1:7", "h:1"}) CHECK(script_of(address)[2] == usual[2]);
  CHECK(script_of("10.0.0.1:7")[4] == "10.0.0.1");
  for (const char* const address : {"", ":1", "host", "host:", "host:1x", "a/b:1"}) CHECK(script_of(address) == usual);

  StatusPort server;
  const auto nodes = test::local_nodes(1);
  StartJob start;
  start.id = "test-status-" + std::to_string(::getpid());
  start.time_limit_ms = 20'000;
  start.ranks = {nccl_status_question(0, {{"NCCL_RAS_ADDR", "127.0.0.1:" + std::to_string(server.port)}})};
  OutputTails tails;
  const std::vector<NodeJob> jobs{{&nodes[0], start}};
  const auto report = run_job(jobs, tails, JobRunOptions());
  CHECK(report.nodes[0].ranks[0].succeeded());
  CHECK(server.asked() == "verbose status\n");
  CHECK(tails.tail_of(0, 0).text == kAnswer);
}

}  // namespace sparkplan
