#include "tests/integration/lab/job_hosts.h"

#include <exception>

namespace sparkplan::test {

JobHosts::JobHosts(std::string cleanup) : cleanup_(std::move(cleanup)) {
  for (int number = 1; number <= Lab::kHosts; ++number) hosts.emplace_back(number);
}

JobHosts::~JobHosts() {
  try {
    for (const Host& host : hosts) host.shell(cleanup_);
  } catch (const std::exception&) {  // The case has failed already.
  }
}

std::size_t JobHosts::sleepers(const std::string& time) const {
  std::size_t count = 0;
  for (const Host& host : hosts) count += host.shell("pgrep -f '[s]leep " + time + "' || true").empty() ? 0U : 1U;
  return count;
}

bool JobHosts::none_left(const std::string& time) const {
  for (const Host& host : hosts) {
    if (!host.shell("pgrep -f '[s]leep " + time + "|[s]parkplan-job' || true").empty()) return false;
  }
  return true;
}

}  // namespace sparkplan::test
