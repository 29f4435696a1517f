#pragma once

#include <pthread.h>

#include <cstddef>

namespace sparkplan::test {

/// During its lifetime, no thread can start: its stack would be larger than the memory that can be addressed.
class NoThreads {
 public:
  NoThreads() {
    ::pthread_getattr_default_np(&before_);
    pthread_attr_t too_large;
    ::pthread_attr_init(&too_large);
    ::pthread_attr_setstacksize(&too_large, std::size_t{1} << 50U);
    ::pthread_setattr_default_np(&too_large);
    ::pthread_attr_destroy(&too_large);
  }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;
  ~NoThreads() {
    ::pthread_setattr_default_np(&before_);
    ::pthread_attr_destroy(&before_);
  }

 private:
  pthread_attr_t before_{};
};

}  // namespace sparkplan::test
