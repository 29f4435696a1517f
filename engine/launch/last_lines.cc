#include "engine/launch/last_lines.h"

#include "engine/core/bounded_text.h"
#include "engine/core/text.h"

namespace sparkplan {

Result<void> LastLinesKept::take(const OutputSource& source, std::string_view bytes) {
  {
    const std::lock_guard lock(mutex_);
    LastLines& last = lines_[{source.node, source.rank}];
    const auto keep = [&](std::string_view line) {
      if (trim(line).empty()) return;
      last.any = line.substr(0, kLongest);
      // "spark-01:4242:4250 [0] NCCL INFO Connected all rings"
      if (line.find(" NCCL ") != std::string_view::npos) last.nccl = line.substr(0, kLongest);
    };
    LineSplitter& stream = streams_[source];
    stream.feed(bytes, keep);
    // A prompt or a progress bar has no end yet.
    keep(stream.unfinished());
  }
  return output_.take(source, bytes);
}

LastLines LastLinesKept::of(std::size_t node, int rank) const {
  const std::lock_guard lock(mutex_);
  const auto found = lines_.find({node, rank});
  if (found == lines_.end()) return {};
  return {shown_text(found->second.any, kLongest), shown_text(found->second.nccl, kLongest)};
}

}  // namespace sparkplan
