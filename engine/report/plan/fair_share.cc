#include "engine/report/plan/fair_share.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace sparkplan {
namespace {

class Shares {
 public:
  Shares(const std::vector<SharedPart>& parts, const std::vector<std::size_t>& frames, std::size_t most)
      : parts_(parts), frames_(frames), framed_(frames.size()), shown_(parts.size()), left_(most) {
    for (const SharedPart& part : parts) {
      for (const std::string& owner : owners_of(part)) shares_.emplace(owner, 0);
    }
    for (auto& [owner, share] : shares_) share = most / shares_.size();
  }

  std::vector<bool> divide() && {
    for (std::size_t at = 0; at < parts_.size(); ++at) {
      for (const std::string& owner : owners_of(parts_[at])) {
        std::size_t& share = shares_.at(owner);
        const std::size_t bytes = bytes_of(at);
        if (bytes > share || !show(at)) continue;
        share -= bytes;
        break;
      }
    }
    for (std::size_t at = 0; at < parts_.size(); ++at) show(at);
    return std::move(shown_);
  }

 private:
  static const std::vector<std::string>& owners_of(const SharedPart& part) {
    static const std::vector<std::string> controller{""};
    return part.nodes.empty() ? controller : part.nodes;
  }

  std::size_t bytes_of(std::size_t at) const {
    const SharedPart& part = parts_[at];
    return part.bytes + (framed_[part.frame] ? 0 : frames_[part.frame]);
  }

  /// False if it is shown already, does not fit, or lacks the part that it needs.
  bool show(std::size_t at) {
    const SharedPart& part = parts_[at];
    const std::size_t bytes = bytes_of(at);
    if (shown_[at] || bytes > left_ || (part.needs && !shown_[*part.needs])) return false;
    left_ -= bytes;
    framed_[part.frame] = true;
    shown_[at] = true;
    return true;
  }

  const std::vector<SharedPart>& parts_;
  const std::vector<std::size_t>& frames_;
  std::vector<bool> framed_;
  std::vector<bool> shown_;
  std::map<std::string_view, std::size_t> shares_;
  std::size_t left_;
};

}  // namespace

std::vector<bool> parts_to_show(const std::vector<SharedPart>& parts, const std::vector<std::size_t>& frames,
                                std::size_t most) {
  return Shares(parts, frames, most).divide();
}

}  // namespace sparkplan
