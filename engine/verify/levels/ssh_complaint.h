#pragma once

#include <string>
#include <string_view>

#include "engine/doctor/doctor_table.h"

namespace sparkplan {

/// Why a login by OpenSSH failed.
struct SshComplaint {
  RowId row;
  std::string words;  ///< The line with the reason, safe to print.
};

/// Pure. Interprets the output of ssh (or of runuser, which starts it). Source: messages of OpenSSH and strerror(3).
SshComplaint read_complaint(std::string_view standard_error);

}  // namespace sparkplan
