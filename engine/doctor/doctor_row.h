#pragma once

#include <string_view>

namespace sparkplan {

/// One known bad state of a machine or of its fabric, described for the person who has to repair it.
struct DoctorRow {
  std::string_view id;                ///< Stable and greppable: "link-no-carrier".
  std::string_view symptom;           ///< The visible fault.
  std::string_view cause;             ///< The likely reason. One clause, no final period.
  std::string_view fix;               ///< The remedy, written like `cause`.
  std::string_view read;              ///< The source of the fact: "/sys/class/net/INTERFACE/carrier".
  std::string_view where = "doctor";  ///< The level of `verify`, or the command, that reports it: "link, doctor".
};

}  // namespace sparkplan
