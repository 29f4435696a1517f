#include "engine/verify/halves.h"

#include <algorithm>
#include <charconv>

#include "engine/domain/fabric/fabric_interfaces.h"

namespace sparkplan {
namespace {

constexpr std::string_view kLinkLocal = "169.254.";

void take_link_local(VerifyHalf& half) {
  if (half.link == nullptr) return;
  for (const std::string& one : half.link->addresses) {
    if (!one.starts_with(kLinkLocal)) continue;
    const auto slash = std::min(one.find('/'), one.size());
    half.address = one.substr(0, slash);
    const std::string length = slash < one.size() ? one.substr(slash + 1) : "";
    std::from_chars(length.data(), length.data() + length.size(), half.prefix_length);
    return;
  }
}

}  // namespace

std::vector<VerifyHalf> halves_of(const NodeSpec& node, const Facts& facts, const std::string& profile) {
  const FabricInterfaces found = fabric_interfaces(node, facts, profile);
  std::vector<VerifyHalf> halves;
  for (const FabricAddress& wanted : node.fabric) {
    VerifyHalf half;
    half.label = std::string(1, static_cast<char>('A' + wanted.half % 26));
    half.half = wanted.half;
    half.address = wanted.address;
    half.prefix_length = wanted.prefix_length;
    half.link_local = wanted.link_local;
    half.mtu = wanted.mtu;
    const auto named = std::find_if(found.interfaces.begin(), found.interfaces.end(),
                                    [&](const FabricInterface& one) { return one.wanted.half == wanted.half; });
    if (named != found.interfaces.end()) {
      half.interface = named->name;
      half.link = named->link;
      half.hcas = named->hcas;
      half.absent_because = named->absent_because;
    } else {
      for (const Diagnostic& why : found.diagnostics) {
        half.absent_because += (half.absent_because.empty() ? "" : "; ") + why.message;
      }
    }
    if (half.link_local) take_link_local(half);
    halves.push_back(std::move(half));
  }
  return halves;
}

}  // namespace sparkplan
