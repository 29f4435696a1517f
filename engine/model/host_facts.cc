#include "engine/model/host_facts.h"

#include <array>

namespace sparkplan {

std::span<const std::string_view> names_of(ProfileOrigin /*origin*/) {
  static constexpr std::array<std::string_view, 3> kNames{"hand-written", "generated", "netplan"};
  return kNames;
}

void list_fields(FieldVisitor& field, RouteFacts& route) {
  field("interface", route.interface);
  field("destination", route.destination, kRequired);
  field("gateway", route.gateway);
  field("metric", route.metric);
  field("protocol", route.protocol);
  field("link_down", route.link_down);
  field("table", route.table);
  field("stands_for", route.stands_for, kOptional.unless(route.stands_for == 1));
}

void list_fields(FieldVisitor& field, NetworkProfile& profile) {
  field("id", profile.id);
  field("uuid", profile.uuid);
  field("type", profile.type);
  field("interface", profile.interface);
  field("mac", profile.mac);
  field("method", profile.method);
  field("autoconnect", profile.autoconnect);
  std::string origin(to_string(profile.origin));
  field("origin", origin);
  // A newer agent may send other origins.
  if (field.reading()) profile.origin = value_named<ProfileOrigin>(origin).value_or(ProfileOrigin::kHandWritten);
  field("file", profile.file);
}

void list_fields(FieldVisitor& field, HostKeyFacts& key) {
  field("type", key.type);
  field("fingerprint", key.fingerprint);
}

void list_fields(FieldVisitor& field, NetplanFileFacts& file) {
  field("path", file.path);
  field("mode", file.mode);
}

void list_fields(FieldVisitor& field, HostFacts& facts) {
  field("vendor", facts.vendor);
  field("board", facts.board);
  field("bios_version", facts.bios_version);
  field("bios_date", facts.bios_date);
  field("kernel_command_line", facts.kernel_command_line);
  field("gpu_driver", facts.gpu_driver);
  field("nvme_host_nqn", facts.nvme_host_nqn);
  field("nvme_host_id", facts.nvme_host_id);
  field("memory_available_bytes", facts.memory_available);
  field("cma_total_bytes", facts.cma_total);
  field("cma_free_bytes", facts.cma_free);
  field("renderers", facts.renderers);
  field("host_keys", facts.host_keys);
  field("routes", facts.routes);
  field("network_profiles", facts.network_profiles);
  field("netplan_files", facts.netplan_files);
  field("unreadable", facts.unreadable);
}

}  // namespace sparkplan
