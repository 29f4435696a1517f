// Like the programs: a child that is gone is an error of write(2), and no end of the process.
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
