#include "engine/core/threads.h"

#include <cerrno>
#include <thread>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/no_threads.h"

namespace sparkplan {
namespace {

TEST_CASE("work is done in another thread") {
  std::vector<std::jthread> threads;
  std::thread::id worker;
  std::thread::id other;
  REQUIRE(add_thread(threads, [&] { worker = std::this_thread::get_id(); }));
  add_thread_or_run(threads, [&] { other = std::this_thread::get_id(); });
  CHECK(threads.size() == 2);
  threads.clear();
  CHECK(worker != std::thread::id());
  CHECK(worker != std::this_thread::get_id());
  CHECK(other != std::thread::id());
  CHECK(other != std::this_thread::get_id());
}

TEST_CASE("a thread that cannot start is an error with its errno") {
  const test::NoThreads none;
  std::vector<std::jthread> threads;
  bool done = false;
  const auto added = add_thread(threads, [&] { done = true; });
  REQUIRE_FALSE(added);
  CHECK(added.error().sys_errno == EAGAIN);
  CHECK(threads.empty());
  CHECK_FALSE(done);
}

TEST_CASE("without another thread, add_thread_or_run() does the work before it returns") {
  const test::NoThreads none;
  std::vector<std::jthread> threads;
  std::thread::id worker;
  add_thread_or_run(threads, [&] { worker = std::this_thread::get_id(); });
  CHECK(threads.empty());
  CHECK(worker == std::this_thread::get_id());
}

}  // namespace
}  // namespace sparkplan
