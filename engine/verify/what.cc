#include "engine/verify/what.h"

#include <algorithm>

namespace sparkplan {

std::string what_of(const Check& check) {
  std::string rest = check.id.substr(std::min(check.id.find('/') + 1, check.id.size()));
  for (const std::string& node : check.nodes) {
    if (rest == node) return "";
    if (!rest.starts_with(node + "/")) break;
    rest = rest.substr(node.size() + 1);
  }
  return rest;
}

}  // namespace sparkplan
