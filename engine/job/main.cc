// The process starter: sparkplan starts it over SSH, one per node. It runs commands as the login user and ends them
// when its input ends.
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "engine/carried/own_program.h"
#include "engine/job/guardian.h"
#include "engine/job/job_server.h"
#include "engine/job/shown_record.h"

namespace {

using namespace sparkplan;

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2) job::start_again_with_room(argv);
  const bool has_room = argc == 3 && std::strlen(argv[2]) == kJobRecordRoom;
  if (argc < 2 || argv[1] != kJobServes || !(argc == 2 || has_room)) {
    std::fputs("usage: sparkplan-job --stdio\n", stderr);
    return 64;
  }
  if (has_room) job::take_room(argv[2]);
  job::start_guardian();
  job::JobServer server(STDIN_FILENO, STDOUT_FILENO);
  return server.serve({own_build(), machine_architecture()});
}
