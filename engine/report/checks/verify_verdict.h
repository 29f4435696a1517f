#pragma once

#include <string>

#include "engine/verify/verify_run.h"

namespace sparkplan {

/// Pure. The result of `verify` in one line: "8 nodes, both halves good; slowest pair spark-01 -> spark-08, 21.9 GB/s".
/// The slowest pair comes from NCCL, else from RDMA, else from TCP. Printable; without a newline.
std::string verdict_of(const VerifyReport& report);

}  // namespace sparkplan
