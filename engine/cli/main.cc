#include "engine/cli/application.h"
#include "engine/core/threads.h"

int main(int argc, char** argv) {
  sparkplan::use_one_heap();
  return static_cast<int>(sparkplan::run_application(argc, argv));
}
