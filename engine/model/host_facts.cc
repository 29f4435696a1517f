#include "engine/model/host_facts.h"

#include "engine/model/fact_bounds.h"

namespace sparkplan {

void list_fields(FieldVisitor& field, RouteFacts& route) {
  field("interface", route.interface, kFactText);
  field("destination", route.destination, kRequiredFactText);
  field("gateway", route.gateway, kFactText);
  field("metric", route.metric, kCount);
  field("protocol", route.protocol, kFactText);
  field("link_down", route.link_down);
  field("table", route.table);
  field("stands_for", route.stands_for, kCount.unless(route.stands_for == 1));
}

void list_fields(FieldVisitor& field, NetworkProfile& profile) {
  field("id", profile.id, kFactText);
  field("uuid", profile.uuid, kFactText);
  field("type", profile.type, kFactText);
  field("interface", profile.interface, kFactText);
  field("mac", profile.mac, kFactText);
  field("method", profile.method, kFactText);
  field("autoconnect", profile.autoconnect);
  std::string origin(to_string(profile.origin));
  field("origin", origin, kFactText);
  // A newer agent may send other origins.
  if (field.reading()) profile.origin = value_named<ProfileOrigin>(origin).value_or(ProfileOrigin::kHandWritten);
  field("file", profile.file, kLongFactText);
}

void list_fields(FieldVisitor& field, HostKeyFacts& key) {
  field("type", key.type, kFactText);
  field("fingerprint", key.fingerprint, kFactText);
}

void list_fields(FieldVisitor& field, NetplanFileFacts& file) {
  field("path", file.path, kLongFactText);
  field("mode", file.mode);
}

void list_fields(FieldVisitor& field, HostFacts& facts) {
  field("vendor", facts.vendor, kFactText);
  field("board", facts.board, kFactText);
  field("bios_version", facts.bios_version, kFactText);
  field("bios_date", facts.bios_date, kFactText);
  field("kernel_command_line", facts.kernel_command_line, kLongFactText);
  field("gpu_driver", facts.gpu_driver, kFactText);
  field("nvme_host_nqn", facts.nvme_host_nqn, kFactText);
  field("nvme_host_id", facts.nvme_host_id, kFactText);
  field("memory_available_bytes", facts.memory_available, kBytes);
  field("cma_total_bytes", facts.cma_total, kBytes);
  field("cma_free_bytes", facts.cma_free, kBytes);
  field("renderers", facts.renderers, kFactText.first(kMostOfFew));
  field("host_keys", facts.host_keys, kOptional.first(kMostOfFew));
  field("routes", facts.routes, kOptional.first(kMostOfNetwork));
  field("network_profiles", facts.network_profiles, kOptional.first(kMostOfMany));
  field("netplan_files", facts.netplan_files, kOptional.first(kMostOfMany));
  field("unreadable", facts.unreadable, kLongFactText.first(kMostOfMany));
}

}  // namespace sparkplan
