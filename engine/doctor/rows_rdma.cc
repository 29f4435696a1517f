#include "engine/doctor/rows.h"

namespace sparkplan {

std::span<const DoctorRow> rdma_rows() { return {}; }

}  // namespace sparkplan
