#include "engine/launch/nccl_status.h"

#include <algorithm>
#include <utility>

#include "engine/core/ascii.h"
#include "engine/core/bounded_text.h"
#include "engine/core/text.h"

namespace sparkplan {
namespace {

constexpr std::size_t kMostFaults = 4;
constexpr std::size_t kMostDetails = 3;  ///< Of one fault.

/// A constant: host and port are arguments, and no text of the user becomes part of it. NCCL waits some seconds for
/// ranks that do not answer it.
constexpr std::string_view kAskScript =
    "exec 3<>\"/dev/tcp/$1/$2\" && printf 'verbose status\\n' >&3 && exec timeout 4 cat <&3";

struct Address {
  std::string host = "localhost";
  std::string port = "28028";  ///< Source: NCCL's documentation of NCCL_RAS_ADDR.
};

/// NCCL_RAS_ADDR is "HOST:PORT". Anything else leaves the default.
Address address_in(const std::map<std::string, std::string>& environment) {
  const auto given = environment.find("NCCL_RAS_ADDR");
  if (given == environment.end()) return {};
  const auto colon = given->second.rfind(':');
  if (colon == std::string::npos || colon == 0) return {};
  const Address address{given->second.substr(0, colon), given->second.substr(colon + 1)};
  const bool is_port = !address.port.empty() && std::all_of(address.port.begin(), address.port.end(), is_digit);
  // In a path, "/" would begin another part.
  return is_port && address.host.find('/') == std::string::npos ? address : Address{};
}

bool is_underline(std::string_view line) { return !line.empty() && line.find_first_not_of('=') == std::string::npos; }

/// A fault and its details, which NCCL indents below it.
class Faults {
 public:
  void take(std::string_view line) {
    const auto text = trim(line);
    if (text.empty()) return;
    const bool is_detail = line.front() == ' ';
    if (!is_detail) begin(text);
    if (is_detail && !all_.empty() && ++details_ <= kMostDetails) {
      all_.back() += (details_ == 1 ? ": " : "; ") + std::string(text.substr(0, kLongestShortText));
    }
  }
  std::vector<std::string> finish() && {
    if (all_.size() > kMostFaults) all_.resize(kMostFaults);
    for (std::string& fault : all_) fault = shown_text(fault);
    return std::move(all_);
  }

 private:
  void begin(std::string_view text) {
    // One more than is kept takes the details that are dropped.
    if (all_.size() <= kMostFaults) all_.emplace_back(text.substr(0, kLongestShortText));
    details_ = 0;
  }

  std::vector<std::string> all_;
  std::size_t details_ = 0;
};

}  // namespace

RankSpec nccl_status_question(int rank, const std::map<std::string, std::string>& environment) {
  const Address address = address_in(environment);
  return {rank, {"bash", "-c", std::string(kAskScript), "status", address.host, address.port}, {}};
}

std::vector<std::string> nccl_faults_in(std::string_view answer) {
  const auto lines = split_lines(answer);
  Faults faults;
  bool inside = false;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i + 1 < lines.size() && is_underline(trim(lines[i + 1]))) {
      const auto heading = trim(lines[i]);
      inside = heading == "Errors" || heading == "Warnings";
      ++i;
    } else if (inside) {
      faults.take(lines[i]);
    }
  }
  return std::move(faults).finish();
}

}  // namespace sparkplan
