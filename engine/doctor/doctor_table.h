#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "engine/doctor/rows_gpu.h"
#include "engine/doctor/rows_links.h"
#include "engine/doctor/rows_machine.h"
#include "engine/doctor/rows_nccl.h"
#include "engine/doctor/rows_network.h"
#include "engine/doctor/rows_parity.h"
#include "engine/doctor/rows_paths.h"
#include "engine/doctor/rows_rdma.h"
#include "engine/doctor/rows_readiness.h"
#include "engine/doctor/rows_software.h"
#include "engine/doctor/rows_storage.h"

namespace sparkplan {

/// The rows of several subjects as one table.
template <std::size_t... kSizes>
constexpr auto joined_rows(const std::array<DoctorRow, kSizes>&... subjects) {
  std::array<DoctorRow, (kSizes + ...)> all;
  auto end = all.begin();
  ((end = std::copy(subjects.begin(), subjects.end(), end)), ...);
  return all;
}

/// All rows, by subject.
inline constexpr auto kDoctorTable =
    joined_rows(kLinkRows, kCableRows, kPathRows, kNetworkRows, kFirewallRows, kRdmaRows, kGpuRows, kNcclRows,
                kStorageRows, kMachineRows, kReadinessRows, kSoftwareRows, kParityRows);

/// A row by its id, or none. An id that the table does not have does not compile.
class RowId {
 public:
  constexpr RowId() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): call sites name a row by its text.
  consteval RowId(const char* id) : row_(find(id)) {}

  constexpr explicit operator bool() const { return row_ != nullptr; }
  constexpr const DoctorRow* operator->() const { return row_; }
  constexpr bool operator==(const RowId&) const = default;

 private:
  static consteval const DoctorRow* find(std::string_view id) {
    for (const DoctorRow& row : kDoctorTable) {
      if (row.id == id) return &row;
    }
    throw "the doctor's table has no row of this id";
  }

  const DoctorRow* row_ = nullptr;
};

}  // namespace sparkplan
