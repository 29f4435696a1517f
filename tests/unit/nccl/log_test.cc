// The transport that NCCL's log reports. logs/README.md names the origin of the logs.
#include "engine/nccl/nccl_log.h"

#include <sys/stat.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <thread>

#include "tests/support/catch.h"
#include "tests/support/source_folder.h"

namespace sparkplan::nccl {
namespace {

using Names = std::vector<std::string>;

NcclTransport read(const std::string& name) {
  std::ifstream file(test::source_folder() + "/tests/unit/nccl/logs/" + name + ".log");
  REQUIRE(file);
  return transport_in(std::string(std::istreambuf_iterator<char>(file), {}));
}

}  // namespace

TEST_CASE("TCP between two GPUs is the network Socket with its interface") {
  const auto seen = read("socket-2.28.3");
  CHECK(seen.network == "Socket");
  CHECK(seen.devices == Names{"eth0"});
  CHECK(seen.channels_socket > 0);
  CHECK(seen.channels_ib == 0);
  CHECK(seen.channels_local == 0);
  CHECK_FALSE(seen.gpu_direct);
}

TEST_CASE("NVLink: no channel uses the selected network") {
  const auto seen = read("nvlink-2.28.3");
  CHECK(seen.network == "Socket");
  CHECK(seen.channels_local > 0);
  CHECK(seen.channels_socket == 0);
}

TEST_CASE("RDMA uses both halves of a port") {
  const auto seen = read("ib-both-halves");
  CHECK(seen.network == "IB");
  CHECK(seen.devices == Names{"rocep1s0f1", "roceP2p1s0f1"});
  CHECK(seen.channels_ib == 4);
  CHECK(seen.channels_socket == 0);
  CHECK_FALSE(seen.gpu_direct);
}

TEST_CASE("an HCA without a channel is not listed as used") {
  CHECK(read("ib-one-half").devices == Names{"rocep1s0f1"});
}

TEST_CASE("a virtual device is replaced by its parts, and each warning of the log is kept once") {
  const auto seen = read("ib-virtual-device");
  CHECK(seen.devices == Names{"mlx5_0", "mlx5_1"});
  CHECK(seen.gpu_direct);
  CHECK(seen.warnings == Names{"socketProgress: Connection closed by remote peer spark-02<41234>"});
}

TEST_CASE("an empty or invalid log gives an empty transport") {
  CHECK(transport_in("") == NcclTransport{});
  CHECK(transport_in("NCCL INFO NET/IB : Using [x]: [9999999999]a []\nNCCL INFO Channel via NET\nvia\n") ==
        NcclTransport{});
}

TEST_CASE("the log file's text is read back") {
  auto log = LogFile::create();
  REQUIRE(log);
  CHECK(log->text().empty());
  std::FILE* file = std::fopen(log->path().c_str(), "w");
  REQUIRE(file != nullptr);
  std::fputs("one\ntwo\n", file);
  std::fclose(file);
  CHECK(log->text() == "one\ntwo\n");
}

TEST_CASE("of a log without end, the memory of all but the last MiB is given back, and NCCL writes on") {
  auto log = LogFile::create();
  REQUIRE(log);
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  std::FILE* file = std::fopen(log->path().c_str(), "w");
  REQUIRE(file != nullptr);
  const std::string text(8 * kMiB, 'x');
  REQUIRE(std::fwrite(text.data(), 1, text.size(), file) == text.size());
  REQUIRE(std::fflush(file) == 0);
  const auto memory = [&] {
    constexpr std::size_t kBlock = 512;
    struct stat status {};
    REQUIRE(::stat(log->path().c_str(), &status) == 0);
    return static_cast<std::size_t>(status.st_blocks) * kBlock;
  };
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (memory() > 2 * kMiB && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  CHECK(memory() <= 2 * kMiB);
  CHECK(log->text() == std::string(kMiB, 'x'));
  std::fputs("end\n", file);
  std::fclose(file);
  CHECK(log->text() == std::string(kMiB - 4, 'x') + "end\n");
}

}  // namespace sparkplan::nccl
