// The process starter: sparkplan starts it over SSH, one per node. It runs commands as the login user and ends them
// when its input ends.
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "engine/carried/own_program.h"
#include "engine/job/guardian.h"
#include "engine/job/job_server.h"

int main(int argc, char** argv) {
  if (argc != 2 || std::strcmp(argv[1], "--stdio") != 0) {
    std::fputs("usage: sparkplan-job --stdio\n", stderr);
    return 64;
  }
  sparkplan::job::start_guardian();
  sparkplan::job::JobServer server(STDIN_FILENO, STDOUT_FILENO);
  return server.serve({sparkplan::own_build(), sparkplan::machine_architecture()});
}
