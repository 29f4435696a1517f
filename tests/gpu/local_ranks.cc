// Runs ranks on this machine, one per GPU, through the code that `sparkplan verify` uses for ranks on nodes. Prints one
// line of JSON per measurement, for compare.py.
//   local_ranks RANKS COLLECTIVE SIZES [NAME=VALUE...]     SIZES: bytes, with commas in between
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "engine/core/json.h"
#include "engine/core/text.h"
#include "engine/verify/levels/nccl_checks.h"

namespace {

using namespace sparkplan;

int usage() {
  std::fputs("usage: local_ranks RANKS COLLECTIVE SIZES [DEVICE:NAME=VALUE | NAME=VALUE]...\n", stderr);
  return 64;
}

Value json_of(const NcclMeasurement& one) {
  return Value::map({{"collective", to_string(one.collective)},
                     {"bytes", one.bytes},
                     {"iterations", one.iterations},
                     {"seconds", one.seconds},
                     {"algbw", one.bandwidth.algorithm},
                     {"busbw", one.bandwidth.bus},
                     {"wrong", one.wrong},
                     {"first_wrong", one.first_wrong}});
}

std::vector<RankPlace> places_for(const std::vector<NodeSpec>& nodes, const std::vector<std::string>& settings) {
  std::vector<RankPlace> places;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    RankPlace place{&nodes[i], static_cast<int>(i), "", {}};
    for (auto setting : settings) {
      const auto own = std::to_string(i) + ":";
      const bool of_one = setting.size() > 1 && setting[1] == ':';
      if (of_one && !setting.starts_with(own)) continue;
      if (of_one) setting.erase(0, own.size());
      const auto equals = setting.find('=');
      place.environment[setting.substr(0, equals)] = setting.substr(equals + 1);
    }
    if (const auto device = place.environment.extract("DEVICE"); !device.empty()) {
      place.device = std::atoi(device.mapped().c_str());
    }
    places.push_back(std::move(place));
  }
  return places;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return usage();
  const int ranks = std::atoi(argv[1]);
  const auto collective = value_named<Collective>(argv[2]);
  if (ranks < 1 || !collective) return usage();
  NcclRequest request{*collective, {}};
  for (const auto size : split(std::string_view(argv[3]), ','))
    request.sizes.push_back(std::atoll(std::string(size).c_str()));
  std::vector<NodeSpec> nodes;
  for (int i = 0; i < ranks; ++i) {
    auto name = *NodeName::parse("gpu-" + std::to_string(i));
    NodeSpec node{std::move(name), i + 1, "", {}, TransportKind::kLocal, "/tmp", false, {}, {}, {}};
    nodes.push_back(std::move(node));
  }
  NcclRunOptions options;
  options.progress = [](std::string_view doing) {
    std::fprintf(stderr, "%.*s\n", static_cast<int>(doing.size()), doing.data());
  };
  const auto outcome = run_nccl(places_for(nodes, {argv + 4, argv + argc}), {request}, options);
  for (const auto& one : outcome.measured) std::printf("%s\n", encode_json(json_of(one)).c_str());
  for (const auto& rank : outcome.prepared) {
    std::fprintf(stderr, "%s, NCCL %s from %s, driver %d\n", rank.gpu.c_str(),
                 nccl_version_text(rank.nccl_version).c_str(), rank.library.c_str(), rank.driver_version);
  }
  for (const auto& way : outcome.transports) {
    std::fprintf(stderr, "network %s over %s; channels: %d IB, %d socket, %d local%s\n", way.network.c_str(),
                 join(way.devices, ", ").c_str(), way.channels_ib, way.channels_socket, way.channels_local,
                 way.gpu_direct ? ", GPUDirect" : "");
  }
  std::fputs(nccl_table(outcome.measured, ranks).c_str(), stderr);
  if (!outcome.failure) return outcome.left_running.empty() ? 0 : 2;
  std::fprintf(stderr, "rank %zu: %s (%s)\n", outcome.failure->place, outcome.failure->error.describe().c_str(),
               outcome.failure->fault ? std::string(to_string(*outcome.failure->fault)).c_str() : "no fault told");
  return 1;
}
