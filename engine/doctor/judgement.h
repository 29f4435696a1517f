#pragma once

#include <optional>

#include "engine/doctor/check_status.h"
#include "engine/doctor/doctor_table.h"

namespace sparkplan {

/// A measured value, compared with the expected value. Pure data.
struct Judgement {
  CheckStatus status = CheckStatus::kPass;
  RowId row = {};                        ///< None for kPass.
  std::optional<double> threshold = {};  ///< Nothing if no value is expected.
};

}  // namespace sparkplan
