#pragma once

#include <signal.h>
#include <sys/resource.h>

#include <cstdint>

namespace sparkplan::test {

/// During its lifetime, no file of this process can have more bytes: a full disk, for what it writes.
class LargestFile {
 public:
  explicit LargestFile(std::uintmax_t bytes) : handler_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{static_cast<rlim_t>(bytes), before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  LargestFile(const LargestFile&) = delete;
  LargestFile& operator=(const LargestFile&) = delete;
  ~LargestFile() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit before_{};
};

}  // namespace sparkplan::test
