#pragma once

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "engine/launch/job_output.h"

namespace sparkplan {

/// The ends of a rank's output.
struct LastLines {
  std::string any;   ///< The last line that is not blank, of either stream.
  std::string nccl;  ///< The last line of NCCL's log.
};

/// Passes output on, and keeps the last lines of each rank. Any thread may ask for them.
class LastLinesKept final : public JobOutput {
 public:
  static constexpr std::size_t kLongest = 300;

  /// `output` outlives the object.
  explicit LastLinesKept(JobOutput& output) : output_(output) {}
  Result<void> take(const OutputSource& source, std::string_view bytes) override;
  Result<void> finish() override { return output_.finish(); }
  /// Safe for a terminal. Empty for a rank that printed nothing.
  LastLines of(std::size_t node, int rank) const;

 private:
  JobOutput& output_;
  mutable std::mutex mutex_;
  std::map<OutputSource, LineSplitter> streams_;
  std::map<std::pair<std::size_t, int>, LastLines> lines_;
};

}  // namespace sparkplan
