#pragma once

#include <string>
#include <string_view>

#include "engine/doctor/doctor_table.h"

namespace sparkplan {

/// Why a login by OpenSSH failed.
struct SshComplaint {
  RowId row;
  std::string words;  ///< The line that says so, safe to print.
};

/// Pure. Reads what ssh (or runuser, which starts it) printed. Source: OpenSSH's and strerror(3)'s words.
SshComplaint read_complaint(std::string_view standard_error);

}  // namespace sparkplan
