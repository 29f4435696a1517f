#include "engine/model/readiness_facts.h"

#include "engine/model/fact_bounds.h"

namespace sparkplan {

void list_fields(FieldVisitor& field, CdiSpecFacts& spec) {
  field("file", spec.file, kLongFactText);
  field("driver", spec.driver, kFactText);
}

void list_fields(FieldVisitor& field, ContainerFacts& containers) {
  field("runtimes", containers.runtimes, kFactText.first(kMostOfFew));
  field("cdi_specs", containers.cdi_specs, kOptional.first(kMostOfFew));
  field("toolkit", containers.toolkit);
  field("may_use_docker", containers.may_use_docker);
}

void list_fields(FieldVisitor& field, GpuFacts& gpu) {
  field("utilisation_percent", gpu.utilisation, kCount);
  field("clock_mhz", gpu.clock_mhz, kCount);
  field("power_watts", gpu.power_watts, kCount);
  field("clock_reasons", gpu.reasons, kCount);
}

void list_fields(FieldVisitor& field, SharedMemoryFacts& memory) {
  field("type", memory.type, kFactText);
  field("limit_bytes", memory.limit, kBytes);
  field("used_bytes", memory.used, kBytes);
  field("files", memory.files, kCount);
}

void list_fields(FieldVisitor& field, SwapFacts& swap) {
  field("total_bytes", swap.total, kBytes);
  field("used_bytes", swap.used, kBytes);
}

void list_fields(FieldVisitor& field, PackageFacts& package) {
  field("name", package.name, kRequiredFactText);
  field("version", package.version, kFactText);
  field("held", package.held);
}

void list_fields(FieldVisitor& field, SoftwareFacts& software) {
  field("kernels", software.kernels, kFactText.first(kMostOfFew));
  field("reboot_required", software.reboot_required);
  field("reboot_for", software.reboot_for, kFactText.first(kMostOfFew));
  field("packages", software.packages, kOptional.first(kMostOfMany));
  field("upgrades_itself", software.upgrades_itself);
}

}  // namespace sparkplan
