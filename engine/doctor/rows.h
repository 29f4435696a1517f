#pragma once

#include <span>

#include "engine/doctor/doctor_table.h"

/// The parts that doctor_table() is made of.
namespace sparkplan {

std::span<const DoctorRow> link_rows();   ///< Levels link, mtu, ssh and tcp.
std::span<const DoctorRow> cable_rows();  ///< Level link, of where cables go.
std::span<const DoctorRow> rdma_rows();
std::span<const DoctorRow> nccl_rows();
std::span<const DoctorRow> host_rows();  ///< What only `doctor` reports.
std::span<const DoctorRow> storage_rows();

}  // namespace sparkplan
