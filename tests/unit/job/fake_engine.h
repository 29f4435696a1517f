#pragma once

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/unit/agent/scratch.h"

namespace sparkplan::test {

/// The programs "docker" and "podman" in front of PATH. Its containers are files: their names are the ids. It knows
/// `ps`, `rm` and `run`, which makes a container and never ends.
class FakeEngine {
 public:
  explicit FakeEngine(const std::string& script = kScript) : path_before_(::getenv("PATH")) {
    std::filesystem::create_directories(scratch_ / "/containers");
    const auto file = scratch_ / "/docker";
    std::ofstream(file) << "#!/bin/sh\ncd " << scratch_.path().string() << "/containers || exit 1\n"
                        << "echo \"$@\" >>../calls\n"
                        << script;
    ::chmod(file.c_str(), 0755);
    std::filesystem::create_symlink("docker", scratch_.path() / "podman");
    ::setenv("PATH", (scratch_.path().string() + ":" + path_before_).c_str(), 1);
  }
  FakeEngine(const FakeEngine&) = delete;
  FakeEngine& operator=(const FakeEngine&) = delete;
  ~FakeEngine() { ::setenv("PATH", path_before_.c_str(), 1); }

  void add(const std::string& id) const { std::ofstream(scratch_ / ("/containers/" + id)) << ""; }
  bool has(const std::string& id) const { return scratch_.exists("/containers/" + id); }
  std::string calls() const { return scratch_.read("/calls"); }

  static constexpr const char* kScript =
      "case $1 in\n"
      "ps) ls ;;\n"
      "rm) shift 2; rm -f -- \"$@\" ;;\n"
      "run) : >c0ffee; exec sleep $2 ;;\n"
      "esac\n";

 private:
  ScratchDirectory scratch_;
  std::string path_before_;
};

}  // namespace sparkplan::test
