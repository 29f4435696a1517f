#include "engine/cli/application.h"

int main(int argc, char** argv) { return sparkplan::run_application(argc, argv); }
