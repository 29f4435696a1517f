// Facts that come only from a node's files.
#include "engine/agent/facts/facts_reader.h"
#include "engine/agent/node/local_node.h"
#include "tests/support/catch.h"
#include "tests/unit/agent/scratch.h"

namespace sparkplan {
namespace {

std::string nccl_version_with(const std::vector<std::string>& files, const std::string& directory) {
  const test::ScratchDirectory root;
  root.make_directory(directory);
  for (const std::string& file : files) root.write(directory + "/" + file, "");
  auto node = LocalNode::open(root.path());
  REQUIRE(node);
  const auto facts = read_facts(*node);
  REQUIRE(facts);
  return facts->nccl_version;
}

}  // namespace

TEST_CASE("the release of NCCL is read from the name of its library") {
  const std::string arm = "/usr/lib/aarch64-linux-gnu";
  CHECK(nccl_version_with({"libnccl.so.2", "libnccl.so.2.28.9", "libnccl.so", "libc.so.6"}, arm) == "2.28.9");
  CHECK(nccl_version_with({"libnccl.so.2", "libnccl.so.2.30.7"}, "/usr/lib/x86_64-linux-gnu") == "2.30.7");
}

TEST_CASE("without NCCL no release is reported; of two installed releases both are") {
  const std::string arm = "/usr/lib/aarch64-linux-gnu";
  CHECK(nccl_version_with({}, arm).empty());
  CHECK(nccl_version_with({"libnccl.so.2"}, arm).empty());
  CHECK(nccl_version_with({"libnccl.so.2.28.9"}, arm).empty());
  CHECK(nccl_version_with({"libnccl.so.2", "libnccl.so.2.28.9", "libnccl.so.2.30.7"}, arm) == "2.28.9 and 2.30.7");
}

}  // namespace sparkplan
