// The environment that a rank receives, and the variables that it already has.
#include "engine/nccl/environment.h"

#include "engine/resource/registry.h"
#include "engine/verify/levels/nccl_places.h"
#include "tests/support/catch.h"

namespace sparkplan {
namespace {

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("variables set only in NCCL's file are listed") {
  const std::string conf = "# a remark\nNCCL_IB_HCA==mlx5_0\nNCCL_ALGO=Ring\nNCCL_ALGO=Tree\nno variable\n";
  CHECK(nccl::other_variables(conf, {{"NCCL_IB_HCA", "=rocep1s0f1"}}) == Names{"NCCL_ALGO"});
  CHECK(nccl::other_variables("", {}).empty());
}

TEST_CASE("available memory is read from meminfo") {
  CHECK(nccl::available_memory("MemTotal: 5 kB\nMemAvailable:   1024 kB\nX: 1 kB\n") == 1024 * 1024);
  CHECK_FALSE(nccl::available_memory("MemTotal: 5 kB\n"));
}

TEST_CASE("ranks get the environment that the section nccl compiles to, as written by an apply") {
  auto section = Value::map({{"library", "/opt/nccl/lib/libnccl.so.2"},
                             {"mode", "auto"},
                             {"env", Value::map({{"NCCL_ALGO", "Ring"}, {"UCX_TLS", "rc"}})}});
  NodeSpec node{*NodeName::parse("spark-01"), 1, "", {}, TransportKind::kLocal, "/", false, {},
                {{"nccl", section}},          {}};
  const Cluster cluster{"lab", "", "", "", {node}};
  const auto environment = nccl_environment(cluster, node, {}, builtin_registry());
  CHECK(environment.library == "/opt/nccl/lib/libnccl.so.2");
  CHECK(environment.variables == std::map<std::string, std::string>{
                                     {"LD_LIBRARY_PATH", "/opt/nccl/lib"}, {"NCCL_ALGO", "Ring"}, {"UCX_TLS", "rc"}});
  node.sections.clear();
  CHECK(nccl_environment(cluster, node, {}, builtin_registry()).variables.empty());
}

}  // namespace sparkplan
