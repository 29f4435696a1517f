#include "engine/doctor/doctor_table.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "engine/doctor/rows.h"

namespace sparkplan {

std::span<const DoctorRow> doctor_table() {
  static const std::vector<DoctorRow> table = [] {
    std::vector<DoctorRow> all;
    for (const auto rows : {link_rows(), cable_rows(), rdma_rows(), nccl_rows(), storage_rows(), host_rows()})
      all.insert(all.end(), rows.begin(), rows.end());
    return all;
  }();
  return table;
}

const DoctorRow& doctor_row(std::string_view id) {
  const auto table = doctor_table();
  const auto found = std::find_if(table.begin(), table.end(), [&](const DoctorRow& row) { return row.id == id; });
  if (found == table.end()) std::abort();
  return *found;
}

}  // namespace sparkplan
