#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/verify/verify_context.h"
#include "tests/support/catch.h"
#include "tests/unit/remote/fakes.h"
#include "tests/unit/verify/sample_context.h"

namespace sparkplan::testing {

/// Of an agent on a healthy node.
inline Result<Value> good_answer(const Request& request, std::int64_t lid) {
  if (std::holds_alternative<OpenReceiverRequest>(request)) return encode(OpenReceiverReply{1001, 1002});
  if (std::holds_alternative<CloseReceiverRequest>(request)) return encode(CloseReceiverReply{});
  if (std::holds_alternative<MeasureTcpRequest>(request)) {
    return encode(MeasureTcpReply{TcpOutcome::kDone, "", 1'000'000, 1'000'000});
  }
  if (const auto* probe = std::get_if<ProbeRequest>(&request)) {
    return encode(ProbeReply{std::vector<bool>(probe->targets.size(), true)});
  }
  if (const auto* logins = std::get_if<SshLoginRequest>(&request)) {
    return encode(SshLoginReply{std::vector<SshLoginReply::Login>(logins->targets.size(), {true, ""})});
  }
  if (std::holds_alternative<RdmaOpenRequest>(request)) {
    RdmaEndpoint endpoint;
    endpoint.session = 1;
    endpoint.lid = lid;
    endpoint.mtu = 4096;
    endpoint.queue_pairs = {1, 2, 3, 4};
    return encode(endpoint);
  }
  return sparkplan::test::answer_usually(request);
}

/// How long an agent takes for a request.
using Delay = std::function<std::chrono::milliseconds(const Request&)>;

/// Nodes whose agents measure well, and take the time that a case gives them.
class LateFleet {
 public:
  LateFleet(int count, Level level) : sample_(count) {
    sample_.options.levels = {level};
    // For the level gpu, which opens connections of its own.
    sample_.options.agent.connector = [](const NodeSpec&, const ConnectOptions&) {
      return Result<std::unique_ptr<Connection>>(failure(ErrorCode::kUnreachable, "no route"));
    };
    for (int i = 0; i < count; ++i) {
      NodeSpec& node = sample_.cluster.nodes[static_cast<std::size_t>(i)];
      node.address = address_of(static_cast<std::size_t>(i));
      node.sections["ssh_trust"] = Value::map({{"users", Value::list({"operator"})}});
      node.sections["storage"] = Value::list({Value::map(
          {{"target", "/data"}, {"type", "ext4"}, {"source", Value::map({{"device", "/dev/disk/by-uuid/1"}})}})});
      add();
    }
  }

  VerifyContext context() {
    auto made = sample_.context();
    for (std::size_t i = 0; i < agents_.size(); ++i) {
      made.nodes[i].client = &*agents_[i]->client;
      made.nodes[i].now = [agent = agents_[i].get()] { return agent->time; };
    }
    return made;
  }

  /// In cluster.yaml. The addresses on the fabric end in the same number.
  static std::string address_of(std::size_t node) { return "10.0.0." + std::to_string(11 + node); }

  void delay(std::size_t node, Delay by) { agents_[node]->delay = std::move(by); }
  std::size_t asked(std::size_t node) const { return agents_[node]->asked; }
  /// How long its answers took together.
  std::chrono::milliseconds spent(std::size_t node) const {
    return std::chrono::ceil<std::chrono::milliseconds>(agents_[node]->time.time_since_epoch());
  }

 private:
  struct Agent {
    sparkplan::test::Remote remote;
    std::chrono::steady_clock::time_point time{};
    Delay delay = [](const Request&) { return std::chrono::milliseconds(0); };
    std::size_t asked = 0;
    Result<AgentClient> client = failure(ErrorCode::kNotFound, "not opened");
  };

  void add() {
    agents_.push_back(std::make_unique<Agent>());
    Agent* const agent = agents_.back().get();
    const auto lid = static_cast<std::int64_t>(agents_.size());
    agent->remote.add(sparkplan::test::agent(sparkplan::test::own_hello(), [agent, lid](const Request& request) {
      if (std::holds_alternative<FactsRequest>(request)) return sparkplan::test::answer_usually(request);
      ++agent->asked;
      agent->time += agent->delay(request);
      return good_answer(request, lid);
    }));
    agent->client = AgentClient::open(sparkplan::test::node(), agent->remote.options(), {});
    REQUIRE(agent->client);
  }

  SampleContext sample_;
  std::vector<std::unique_ptr<Agent>> agents_;
};

}  // namespace sparkplan::testing
