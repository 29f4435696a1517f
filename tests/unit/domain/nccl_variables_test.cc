#include "engine/domain/nccl/nccl_variables.h"

#include <algorithm>

#include "tests/support/catch.h"

namespace sparkplan {
namespace {

using Codes = std::vector<std::string>;

Codes codes(const std::vector<Diagnostic>& findings) {
  Codes found;
  for (const Diagnostic& one : findings) found.push_back(std::string(to_string(one.severity)) + " " + one.code);
  return found;
}

Codes on_node(const std::string& name, const std::string& installed, bool is_spark = false) {
  return codes(lint_nccl_on_node({name, "1", {}, {}}, parse_nccl_version(installed), is_spark, "DGX Spark"));
}

}  // namespace

TEST_CASE("the table of NCCL's variables is sorted and unique, and finds each variable by name") {
  const auto all = nccl_variables();
  CHECK(all.size() == 313);
  CHECK(std::is_sorted(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; }));
  for (const NcclVariable& one : all) {
    INFO(one.name);
    CHECK(one.name.starts_with("NCCL_"));
    CHECK(find_nccl_variable(one.name) == &one);
    CHECK((one.reader == NcclReader::kRemoved) == one.last.has_value());
    CHECK((one.reader != NcclReader::kNobody || !one.values.empty()));
  }
  CHECK(find_nccl_variable("NCCL_MERGE") == nullptr);
  CHECK(find_nccl_variable("") == nullptr);
}

TEST_CASE("a release of NCCL is three numbers within any package version") {
  CHECK(parse_nccl_version("2.30.7") == NcclVersion{2, 30, 7});
  CHECK(parse_nccl_version("v2.30.7-1")->str() == "2.30.7");
  CHECK(parse_nccl_version("2.28.9-1+cuda13.0") == NcclVersion{2, 28, 9});
  CHECK(NcclVersion{2, 9, 9} < NcclVersion{2, 28, 3});
  for (const char* const text : {"", "2", "2.30", "2.30.", "2.30.7.1", "2.x.7", "2.-1.7", "-", "2.30.7rc",
                                 "2.28.9 and 2.30.7", "2.28.9-1 and 2.30.7"}) {
    INFO(text);
    CHECK_FALSE(parse_nccl_version(text));
  }
}

TEST_CASE("a variable newer than the node's NCCL is refused on that node only") {
  CHECK(on_node("NCCL_IB_SUBNET_AWARE_ROUTING", "2.28.9") == Codes{"error nccl.too-new"});
  CHECK(on_node("NCCL_IB_SUBNET_AWARE_ROUTING", "2.30.7").empty());
  CHECK(on_node("NCCL_IB_SUBNET_AWARE_ROUTING", "").empty());
  CHECK(on_node("NCCL_IB_SUBNET_AWARE_ROUTING", "2.28.9 and 2.30.7").empty());
  CHECK(on_node("NCCL_NET_MERGE_LEVEL", "2.24.2") == Codes{"error nccl.too-new"});
  CHECK(on_node("NCCL_CROSS_NIC", "2.9.0").empty());
}

TEST_CASE("a variable removed in the node's NCCL is refused on that node") {
  CHECK(on_node("NCCL_SHM_USE_CUDA_MEMCPY", "2.30.7") == Codes{"error nccl.removed-variable"});
  CHECK(on_node("NCCL_SHM_USE_CUDA_MEMCPY", "2.30.4").empty());
}

TEST_CASE("a variable without effect on a GB10 is a warning on a GB10 only") {
  for (const char* const name : {"NCCL_NET_GDR_LEVEL", "NCCL_NET_GDR_READ", "NCCL_NET_GDR_C2C", "NCCL_DMABUF_ENABLE",
                                 "NCCL_GDRCOPY_ENABLE", "NCCL_NVLS_ENABLE", "NCCL_P2P_LEVEL", "NCCL_P2P_DISABLE"}) {
    INFO(name);
    CHECK(on_node(name, "2.30.7", true) == Codes{"warning nccl.no-effect-here"});
    CHECK(on_node(name, "2.30.7", false).empty());
  }
  // These variables affect the network between nodes, although their names begin alike.
  for (const char* const name : {"NCCL_P2P_NET_CHUNKSIZE", "NCCL_MIN_P2P_NCHANNELS", "NCCL_IB_HCA", "NCCL_DEBUG"}) {
    INFO(name);
    CHECK(on_node(name, "2.30.7", true).empty());
  }
  const auto finding = lint_nccl_on_node({"NCCL_DMABUF_ENABLE", "1", {3, 4, 5}, {}}, {}, true, "DGX Spark").at(0);
  CHECK(finding.message == "NCCL_DMABUF_ENABLE does nothing here: a GB10 has no GPUDirect RDMA (product: DGX Spark)");
  CHECK(finding.where == SourceRange{3, 4, 5});
}

TEST_CASE("variables of other programs are ignored") {
  CHECK(lint_nccl({{"UCX_TLS", "rc", {}, {}}, {"TORCH_NCCL_TRACE", "x", {}, {}}, {"NCCLX", "x", {}, {}}}).empty());
}

}  // namespace sparkplan
