#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"

namespace sparkplan::test {

/// All hosts of the lab, a controller, and the jobs that a case starts on the hosts. A job is known by the time that
/// its processes sleep.
class JobHosts {
 public:
  /// `cleanup`: a line of shell that ends the case on each host.
  explicit JobHosts(std::string cleanup);
  JobHosts(const JobHosts&) = delete;
  JobHosts& operator=(const JobHosts&) = delete;
  ~JobHosts();

  /// The number of hosts on which a process sleeps for `time`.
  std::size_t sleepers(const std::string& time) const;
  /// True if no host has such a process or a process starter.
  bool none_left(const std::string& time) const;

  std::vector<Host> hosts;
  const Controller controller;

 private:
  std::string cleanup_;
};

}  // namespace sparkplan::test
