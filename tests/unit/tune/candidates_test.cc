// The settings that `tune` tries.
#include "engine/tune/candidates.h"

#include <algorithm>

#include "engine/domain/nccl/nccl_variables.h"
#include "tests/support/catch.h"

namespace sparkplan {
namespace {

std::vector<std::string> names_in(const TuneCandidates& candidates) {
  std::vector<std::string> names;
  for (const TuneKnob& knob : candidates.knobs) names.push_back(knob.name);
  return names;
}

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

TEST_CASE("tune candidates: sockets over TCP, queue pairs over RDMA, neither within one machine") {
  const auto sockets = names_in(tune_candidates({"Socket", 2}));
  CHECK(sockets.front() == "sockets");
  CHECK_FALSE(has(sockets, "queue pairs"));
  const auto rdma = names_in(tune_candidates({"IB", 2}));
  CHECK(rdma.front() == "queue pairs");
  CHECK_FALSE(has(rdma, "sockets"));
  const auto local = names_in(tune_candidates({"", 1}));
  CHECK(local.front() == "channels");
  CHECK_FALSE(has(local, "sockets"));
  CHECK_FALSE(has(local, "queue pairs"));
}

TEST_CASE("tune candidates: one node of three does not decide which network the settings are for") {
  CHECK(network_of_most({"IB", "Socket", "Socket"}) == "Socket");
  CHECK(network_of_most({"Socket", "IB", "Socket"}) == "Socket");
  CHECK(network_of_most({"IB", "Socket"}) == "IB");
  CHECK(network_of_most({}).empty());
}

TEST_CASE("tune candidates: a ring or a tree is a choice from three nodes on") {
  CHECK_FALSE(has(names_in(tune_candidates({"IB", 2})), "algorithm"));
  CHECK(has(names_in(tune_candidates({"IB", 3})), "algorithm"));
}

TEST_CASE("tune candidates: a variable of cluster.yaml keeps its value") {
  const auto candidates = tune_candidates({"IB", 8, {"NCCL_PROTO", "NCCL_IB_QPS_PER_CONNECTION", "NCCL_NVLS_ENABLE"}});
  CHECK(candidates.declared == std::vector<std::string>{"NCCL_IB_QPS_PER_CONNECTION", "NCCL_PROTO"});
  for (const TuneKnob& knob : candidates.knobs) {
    for (const NcclVariables& value : knob.values) {
      CHECK_FALSE(value.contains("NCCL_PROTO"));
      CHECK_FALSE(value.contains("NCCL_IB_SPLIT_DATA_ON_QPS"));
    }
  }
}

TEST_CASE("tune candidates: NCCL reads each of them, none is NCCL_NVLS_ENABLE, and none allows LL128") {
  for (const char* network : {"", "IB", "Socket"}) {
    for (const TuneKnob& knob : tune_candidates({network, 8}).knobs) {
      CHECK_FALSE(knob.values.empty());
      for (const NcclVariables& value : knob.values) {
        for (const auto& [name, text] : value) {
          INFO(name << "=" << text);
          CHECK(find_nccl_variable(name) != nullptr);
          CHECK_FALSE(has_errors(lint_nccl({NcclAssignment{name, text, {}, {}}})));
          CHECK(name != "NCCL_NVLS_ENABLE");
          CHECK(text.find("LL128") == std::string::npos);
        }
      }
    }
  }
}

TEST_CASE("tune candidates: the sockets stay within the limits of NCCL") {
  for (const TuneKnob& knob : tune_candidates({"Socket", 2}).knobs) {
    if (knob.name != "sockets") continue;
    for (const NcclVariables& value : knob.values) {
      const int threads = std::stoi(value.at("NCCL_SOCKET_NTHREADS"));
      CHECK(threads <= 16);
      CHECK(threads * std::stoi(value.at("NCCL_NSOCKS_PERTHREAD")) <= 64);
    }
  }
}

TEST_CASE("tune candidates: texts of settings") {
  CHECK(variables_text({}) == "NCCL's own choice");
  CHECK(variables_text({{"NCCL_PROTO", "LL"}, {"NCCL_BUFFSIZE", "1"}}) == "NCCL_BUFFSIZE=1 NCCL_PROTO=LL");
}

}  // namespace sparkplan
