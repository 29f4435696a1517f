// Rewrites the files that are generated from the program's table of commands and its schema.
#include <fstream>
#include <iostream>

#include "engine/cli/reference/reference.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: sparkplan-reference SOURCE_DIRECTORY\n";
    return 1;
  }
  const std::filesystem::path source = argv[1];
  const auto files = sparkplan::reference_files(source);
  if (!files) {
    std::cerr << "sparkplan-reference: " << files.error().describe() << "\n";
    return 1;
  }
  for (const auto& [path, text] : *files) {
    std::ofstream file(source / path, std::ios::binary | std::ios::trunc);
    if (!(file << text).flush()) {
      std::cerr << "sparkplan-reference: cannot write " << path << "\n";
      return 1;
    }
    std::cout << path << "\n";
  }
  return 0;
}
