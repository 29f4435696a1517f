#include <fmt/core.h>

#include "engine/verify/levels/nccl_run.h"

namespace sparkplan {

std::string nccl_table(const std::vector<NcclMeasurement>& measured, int ranks) {
  std::string table;
  std::optional<Collective> heading;
  for (const auto& one : measured) {
    if (heading != one.collective) {
      heading = one.collective;
      table += fmt::format("# {}, {} ranks, out of place\n", to_string(one.collective), ranks);
      table += fmt::format("#{:>12}{:>13}{:>8}{:>7}{:>11}{:>9}{:>9}{:>8}\n", "size", "count", "type", "iters", "time",
                           "algbw", "busbw", "#wrong");
      table += fmt::format("#{:>12}{:>13}{:>8}{:>7}{:>11}{:>9}{:>9}\n", "(B)", "(elements)", "", "", "(us)", "(GB/s)",
                           "(GB/s)");
    }
    const auto count = collective_shape(one.collective, one.bytes, ranks).unit;
    table += fmt::format("{:>13}{:>13}{:>8}{:>7}{:>11.2f}{:>9.2f}{:>9.2f}{:>8}\n", one.bytes, count, "float",
                         one.iterations, one.seconds * 1e6, one.bandwidth.algorithm, one.bandwidth.bus, one.wrong);
  }
  return table;
}

}  // namespace sparkplan
