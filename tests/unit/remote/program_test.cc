// A program beside the agent: as whom it is started, and a node that cannot start it.
#include "engine/remote/programs/nccl_rank_client.h"
#include "tests/support/catch.h"
#include "tests/unit/remote/fakes.h"

namespace sparkplan {
namespace {

using test::installer;
using test::no_agent;
using test::node;
using test::Peer;
using test::Remote;

/// The error of a node whose loader prints `complaint` instead of starting the installed program.
Error refused_with(const std::string& complaint) {
  Peer loader;
  loader.standard_error = complaint;
  loader.ended = true;
  loader.status = 1;
  Remote remote;
  remote.add(no_agent());
  remote.add(installer());
  remote.add(loader);
  const auto client = NcclRankClient::open(node(), remote.options());
  REQUIRE_FALSE(client);
  CHECK(remote.started() == 3);
  return client.error();
}

}  // namespace

TEST_CASE("a C library that is too old for sparkplan-nccl is reported with the minimum, on one line") {
  const auto error = refused_with(
      "/usr/local/libexec/sparkplan/sparkplan-nccl: /lib/aarch64-linux-gnu/libc.so.6: version `GLIBC_2.33' not found "
      "(required by /usr/local/libexec/sparkplan/sparkplan-nccl)\n"
      "/usr/local/libexec/sparkplan/sparkplan-nccl: /lib/aarch64-linux-gnu/libc.so.6: version `GLIBC_2.34' not found "
      "(required by /usr/local/libexec/sparkplan/sparkplan-nccl)\n");
  CHECK(error.code == ErrorCode::kUnsupported);
  CHECK(error.message == "the node's C library is too old for this program: it needs glibc 2.34 or newer");
  CHECK_FALSE(error.hint.empty());
}

TEST_CASE("another complaint of the loader is shown as it is") {
  for (const std::string complaint : {"error while loading shared libraries: libc.so.6: GLIBC_2.34 is not here",
                                      "ls: /lib/libc.so.6: version `GLIBC_2.34' not found (required by ls)"}) {
    const auto error = refused_with(complaint);
    CHECK(error.code == ErrorCode::kFailed);
    CHECK(error.message == "the remote program ended with status 1: " + complaint);
  }
}

TEST_CASE("sparkplan-nccl runs as the login user, and only its installer uses sudo") {
  Peer program;
  program.ended = true;
  program.status = 1;
  Remote remote;
  remote.add(no_agent());
  remote.add(installer());
  remote.add(program);
  CHECK_FALSE(NcclRankClient::open(node("anna"), remote.options()));
  REQUIRE(remote.started() == 3);
  CHECK(remote.peer(0).elevation == Elevation::kNone);
  CHECK(remote.peer(1).elevation == Elevation::kSudo);
  CHECK(remote.peer(2).elevation == Elevation::kNone);
  CHECK(remote.peer(2).program == RemoteProgram::kNcclRank);
}

}  // namespace sparkplan
