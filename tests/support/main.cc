// As in the programs: a write to an ended child makes write(2) fail, and does not end the process. All threads share
// one heap, so that tests measure the memory that sparkplan needs.
#include <csignal>

#include "engine/core/threads.h"

#if SPARKPLAN_CATCH2_MAJOR >= 3
#include <catch2/catch_session.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif

int main(int count, char** arguments) {
  std::signal(SIGPIPE, SIG_IGN);
  sparkplan::use_one_heap();
  return Catch::Session().run(count, arguments);
}
