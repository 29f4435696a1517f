#include <string>

#include "engine/cli/reference/reference.h"
#include "engine/doctor/doctor_table.h"

namespace sparkplan {
namespace {

constexpr std::string_view kHead = R"(<!-- Made from the program: cmake --build build --target reference -->
# What the doctor knows

`sparkplan doctor` reads everything of the nodes and says which of these states they are in. It measures nothing and
changes nothing on a node but the agent, where it is missing or of another build. A state that can only be measured is
reported by the level of `sparkplan verify` that is named with it.

```
$ sparkplan doctor
FAIL  spark-02  link-mtu: the interface has another MTU than declared
        seen: enp1s0f1np1 has an MTU of 1500 instead of 9000
        cause: somebody has changed it, or the declared one was never applied
        fix: run `sparkplan apply`; `sparkplan drift` says whether somebody changed it
pass  adapter-absent, link-absent, link-down, ...
skip  nccl-version-ring, nvme-not-live, ...
Doctor: 1 failed, 0 to look at, 118 well, 4 not looked at. 0.81 s
```

A finding is *skip* where there is nothing of the kind, or where it could not be looked at; `--json` says which. What
is known of DGX Sparks only is skipped on other machines. The exit code is 8 if something fails; warnings are worth a
look and no failure.

)";

std::string row_as_section(const DoctorRow& row) {
  return "### " + std::string(row.id) + "\n" + std::string(row.symptom) + ".\n\n- cause: " + std::string(row.cause) +
         "\n- fix: " + std::string(row.fix) + "\n- read: `" + std::string(row.read) +
         "`\n- reported by: " + std::string(row.where) + "\n\n";
}

bool is_reported_by_doctor(const DoctorRow& row) { return row.where.find("doctor") != std::string_view::npos; }

}  // namespace

std::string markdown_of_doctor() {
  std::string text(kHead);
  text += "## Seen by `doctor`\n\n";
  for (const DoctorRow& row : doctor_table()) {
    if (is_reported_by_doctor(row)) text += row_as_section(row);
  }
  text += "## Seen by `verify` only\n\n";
  for (const DoctorRow& row : doctor_table()) {
    if (!is_reported_by_doctor(row)) text += row_as_section(row);
  }
  text.pop_back();
  return text;
}

}  // namespace sparkplan
