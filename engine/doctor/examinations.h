#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "engine/doctor/examination.h"

/// The parts that examine() is made of.
namespace sparkplan {

struct Opinion {
  Verdict verdict = Verdict::kPass;
  std::string seen;
};

inline Opinion pass(std::string seen = {}) { return {Verdict::kPass, std::move(seen)}; }
inline Opinion warn(std::string seen) { return {Verdict::kWarn, std::move(seen)}; }
inline Opinion fail(std::string seen) { return {Verdict::kFail, std::move(seen)}; }
inline Opinion skip(std::string why) { return {Verdict::kSkip, std::move(why)}; }

/// How one row looks at a node. Only the first of the two is set, or only the second.
struct Examination {
  std::string_view row;
  Opinion (*of_node)(const ExaminedCluster& cluster, const ExaminedNode& node) = nullptr;
  Opinion (*of_all)(const ExaminedCluster& cluster) = nullptr;
  /// The fields of HostFacts and ExtendedFacts that it reads, as `unreadable` names them: where one of them could not
  /// be looked at, nothing is said of the node.
  std::array<std::string_view, 2> reads{};
};

std::span<const Examination> link_examinations();
std::span<const Examination> network_examinations();
std::span<const Examination> rdma_examinations();
std::span<const Examination> nccl_examinations();
std::span<const Examination> machine_examinations();
std::span<const Examination> parity_examinations();

/// A row of network_examinations(), as it takes a file of its own.
Opinion firewall_drops(const ExaminedCluster& cluster, const ExaminedNode& node);

/// Collects complaints about several things of one node into one opinion: the verdict given if there are any.
class Complaints {
 public:
  void add(const std::string& complaint) { text_ += (text_.empty() ? "" : "; ") + complaint; }
  bool any() const { return !text_.empty(); }
  Opinion as(Verdict verdict, std::string otherwise = {}) const {
    return any() ? Opinion{verdict, text_} : pass(std::move(otherwise));
  }

 private:
  std::string text_;
};

/// The extended of the node; null where there is none.
const ExtendedFacts* extended_of(const ExaminedNode& node);
/// The half whose interface that is; null for any other interface.
const ExaminedHalf* half_with(const ExaminedNode& node, std::string_view interface);
/// NCCL's variables as a rank on the node gets them that is started over ssh: the environment before ~/.nccl.conf
/// before /etc/nccl.conf, each with where it is from.
struct NcclSetting {
  std::string name;
  std::string value;
  std::string from;  ///< "/etc/nccl.conf", "the environment of ssh"
};
std::vector<NcclSetting> nccl_settings(const ExtendedFacts& extended);
const NcclSetting* find_setting(std::span<const NcclSetting> settings, std::string_view name);

}  // namespace sparkplan
