#pragma once

#include <span>
#include <string_view>

namespace sparkplan {

/// One known bad state of a machine or of its fabric, in words for the person who has to mend it.
struct DoctorRow {
  std::string_view id;       ///< Stable and greppable: "link-no-carrier".
  std::string_view symptom;  ///< What is seen.
  std::string_view cause;    ///< Why, as far as what is seen can tell. One clause, no final period.
  std::string_view fix;      ///< What to do about it. As `cause`.
  std::string_view read;     ///< What has to be read to see it: "/sys/class/net/INTERFACE/carrier".
  std::string_view where;    ///< The level of `verify`, or the command, that reports it: "link".
};

/// All rows, by where they are reported, then as they are tried.
std::span<const DoctorRow> doctor_table();

/// The row of that id. One that does not exist is a mistake in the program: it ends.
const DoctorRow& doctor_row(std::string_view id);

}  // namespace sparkplan
