// As in the programs: a write to an ended child makes write(2) fail, and does not end the process.
#include <csignal>

#if SPARKPLAN_CATCH2_MAJOR >= 3
#include <catch2/catch_session.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif

int main(int count, char** arguments) {
  std::signal(SIGPIPE, SIG_IGN);
  return Catch::Session().run(count, arguments);
}
