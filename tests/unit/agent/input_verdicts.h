#pragma once

#include <string>
#include <vector>

#include "engine/model/extended_facts.h"

namespace sparkplan::test {

using Verdicts = std::vector<std::string>;

/// Format: "accept enp1s0f1np1 from 192.168.100.0/24".
inline Verdicts verdicts_of(const InputChainFacts& chain) {
  Verdicts verdicts;
  for (const InputVerdictFacts& one : chain.verdicts) {
    std::string text = one.verdict;
    if (!one.interface.empty()) text += " " + one.interface;
    if (!one.from.empty()) text += " from " + one.from;
    verdicts.push_back(text);
  }
  return verdicts;
}

}  // namespace sparkplan::test
