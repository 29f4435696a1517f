#include "engine/cli/application.h"

int main(int argc, char** argv) { return static_cast<int>(sparkplan::run_application(argc, argv)); }
