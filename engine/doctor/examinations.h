#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "engine/doctor/examination.h"

/// The parts of examine().
namespace sparkplan {

/// The outcome of a row, with what was seen; of a skipped row, the reason.
struct Verdict {
  CheckStatus status = CheckStatus::kPass;
  std::string seen;
};

inline Verdict pass(std::string seen = {}) { return {CheckStatus::kPass, std::move(seen)}; }
inline Verdict warn(std::string seen) { return {CheckStatus::kWarn, std::move(seen)}; }
inline Verdict fail(std::string seen) { return {CheckStatus::kFail, std::move(seen)}; }
inline Verdict skip(std::string why) { return {CheckStatus::kSkip, std::move(why)}; }

/// A precondition of a row.
enum class Need : std::uint8_t {
  kNothing,
  kRunning,   ///< A live node.
  kSpark,     ///< A DGX Spark.
  kFabric,    ///< A declared fabric.
  kPcie,      ///< An interface of the fabric on PCIe.
  kRdma,      ///< An interface of the fabric with an RDMA device.
  kExtended,  ///< Extended facts.
};
/// The first missing need is the reason of the skip.
using Needs = std::array<Need, 4>;

/// Names of fields of HostFacts and ExtendedFacts, as `unreadable` has them.
using Fields = std::array<std::string_view, 4>;

/// How one row is decided: for a node, for a node among the others, or for all nodes together.
struct Examination {
  RowId row;
  std::variant<Verdict (*)(const ExaminedNode&), Verdict (*)(const ExaminedCluster&, const ExaminedNode&),
               Verdict (*)(const ExaminedCluster&)>
      decide;
  Needs needs{};
  /// The fields that it reads. If the node could not read one of them, the row is skipped.
  Fields reads{};
};

/// One list per file, each as long as the program runs.
std::span<const Examination> link_examinations();
std::span<const Examination> network_examinations();
std::span<const Examination> rdma_examinations();
std::span<const Examination> nccl_examinations();
std::span<const Examination> machine_examinations();
std::span<const Examination> parity_examinations();
std::span<const Examination> readiness_examinations();
std::span<const Examination> software_examinations();

/// For network_examinations(). Defined in examine_firewall.cc.
Verdict firewall_drops(const ExaminedCluster& cluster, const ExaminedNode& node);
Verdict forward_drops(const ExaminedCluster& cluster, const ExaminedNode& node);

/// A loaded unit; null for any other. Defined in examine_machine.cc.
const UnitFacts* unit_named(const ExtendedFacts& extended, std::string_view name);
/// The given status if one of the units runs now or starts at the next boot. Defined in examine_machine.cc.
Verdict of_units(const ExaminedNode& node, std::span<const std::string_view> names, CheckStatus verdict);
/// A release of the GPU driver that is not for a DGX Spark. Defined in examine_software.cc.
bool is_other_driver_branch(std::string_view version);

/// Joins complaints about several things of one node into one verdict. It has the given status if there are complaints.
/// The facts of a node can cause millions of complaints: those beyond a bound are left out.
class Complaints {
 public:
  void add(const std::string& complaint) {
    if (text_.size() >= kMostBytes) return;
    text_ += (text_.empty() ? "" : "; ") + complaint;
    if (text_.size() >= kMostBytes) text_ += "; ...";
  }
  bool any() const { return !text_.empty(); }
  Verdict as(CheckStatus status, std::string otherwise = {}) const {
    return any() ? Verdict{status, text_} : pass(std::move(otherwise));
  }

 private:
  static constexpr std::size_t kMostBytes = std::size_t{64} << 10;
  std::string text_;
};

/// Only for rows with Need::kExtended.
inline const ExtendedFacts& extended_of(const ExaminedNode& node) { return node.facts->extended.value(); }
/// The half with that interface; null for any other interface.
const ObservedPort* half_with(const ExaminedNode& node, std::string_view interface);

/// One of NCCL's variables, as in a rank that is started over ssh on the node.
struct NcclSetting {
  std::string name;
  std::string value;
  std::string from;  ///< "/etc/nccl.conf", "the environment of ssh"
};
/// In order of precedence: the environment, ~/.nccl.conf, /etc/nccl.conf.
std::vector<NcclSetting> nccl_settings(const ExtendedFacts& extended);
const NcclSetting* find_setting(std::span<const NcclSetting> settings, std::string_view name);

}  // namespace sparkplan
