#pragma once

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/support/catch.h"
#include "tests/support/source_folder.h"

namespace sparkplan::testing {

/// Compares with goldens/NAME.txt. SPARKPLAN_ACCEPT=1 writes the current text; read it before you commit it.
inline void check_golden(const std::string& name, const std::string& text) {
  const std::string path = source_folder() + "/tests/unit/report/goldens/" + name + ".txt";
  if (std::getenv("SPARKPLAN_ACCEPT") != nullptr) std::ofstream(path, std::ios::binary) << text;
  std::ostringstream golden;
  golden << std::ifstream(path, std::ios::binary).rdbuf();
  INFO(path);
  CHECK(text == golden.str());
}

}  // namespace sparkplan::testing
