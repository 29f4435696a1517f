#include <string>

#include "engine/cli/reference/reference.h"
#include "engine/doctor/doctor_table.h"

namespace sparkplan {
namespace {

constexpr std::string_view kHead = R"(<!-- Made from the program: cmake --build build --target reference -->
# doctor: known faults

`sparkplan doctor` reads everything from the nodes and reports which of these faults they have. It measures nothing. On
a node it writes only the agent, if that is missing or of another build. Some faults need a measurement: the named level
of `sparkplan verify` reports them.

```
$ sparkplan doctor
FAIL  spark-02  link-mtu: the interface does not have the declared MTU
        seen: enp1s0f1np1 has an MTU of 1500 instead of 9000
        cause: the MTU was changed on the node, or the declared MTU was never applied
        fix: run `sparkplan apply`; `sparkplan drift` shows whether the MTU was changed
pass  118 checks (-v lists them)
skip  4 checks (-v lists them)
Doctor: 1 failed, 0 warnings, 118 passed, 4 skipped. 0.81 s
```

A finding is *skip* if the node has no such hardware or setting, or could not be read; `--json` has the reason. Faults
of DGX Sparks only are skipped on other machines. The exit code is 8 if something fails; warnings do not count. The last
line counts what is printed above it: a fault that two nodes share is one. The summary of `--json` counts each node.

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
  for (const DoctorRow& row : kDoctorTable) {
    if (is_reported_by_doctor(row)) text += row_as_section(row);
  }
  text += "## Seen by `verify` only\n\n";
  for (const DoctorRow& row : kDoctorTable) {
    if (!is_reported_by_doctor(row)) text += row_as_section(row);
  }
  text.pop_back();
  return text;
}

}  // namespace sparkplan
