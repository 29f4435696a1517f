#include "engine/model/extended_facts.h"

namespace sparkplan {

void list_fields(FieldVisitor& field, NeighbourFacts& neighbour) {
  field("interface", neighbour.interface);
  field("address", neighbour.address);
  field("mac", neighbour.mac);
  field("state", neighbour.state);
}

void list_fields(FieldVisitor& field, UnitFacts& unit) {
  field("name", unit.name);
  field("active", unit.active);
  field("enabled", unit.enabled);
  field("locked_memory", unit.locked_memory);
}

void list_fields(FieldVisitor& field, InputVerdictFacts& verdict) {
  field("interface", verdict.interface);
  field("from", verdict.from);
  field("verdict", verdict.verdict);
  field("rule", verdict.rule);
}

void list_fields(FieldVisitor& field, InputChainFacts& chain) {
  field("name", chain.name);
  field("verdicts", chain.verdicts);
}

void list_fields(FieldVisitor& field, FirewallFacts& firewall) {
  field("ufw", firewall.ufw);
  field("input_chains", firewall.input_chains);
}

void list_fields(FieldVisitor& field, NvmeControllerFacts& controller) {
  field("name", controller.name);
  field("transport", controller.transport);
  field("address", controller.address);
  field("state", controller.state);
  field("subsystem", controller.subsystem);
}

void list_fields(FieldVisitor& field, RdmaFirmwareFacts& firmware) {
  field("device", firmware.device);
  field("firmware", firmware.firmware);
  field("board", firmware.board);
  field("errors", firmware.errors);
}

void list_fields(FieldVisitor& field, NcclFileFacts& file) {
  field("file", file.file);
  field("variables", file.variables);
}

void list_fields(FieldVisitor& field, FstabFacts& line) {
  field("device", line.device);
  field("target", line.target);
  field("type", line.type);
  field("options", line.options);
}

void list_fields(FieldVisitor& field, LoginFacts& login) {
  field("user", login.user);
  field("locked_memory_soft", login.locked_memory_soft);
  field("locked_memory_hard", login.locked_memory_hard);
  field("environment", login.environment);
  field("uid", login.uid);
  field("sudo_without_password", login.sudo_without_password);
}

void list_fields(FieldVisitor& field, ExtendedFacts& facts) {
  field("neighbours", facts.neighbours);
  field("sshd", facts.sshd);
  field("login", facts.login);
  field("netplan_error", facts.netplan_error);
  field("netplan_merged", facts.netplan_merged);
  field("units", facts.units);
  field("kernel_modules", facts.kernel_modules);
  field("modules_at_boot", facts.modules_at_boot);
  field("sysctl", facts.sysctl);
  field("nvme", facts.nvme);
  field("rdma_firmware", facts.rdma_firmware);
  field("nccl_files", facts.nccl_files);
  field("nccl_profile", facts.nccl_profile);
  field("fstab", facts.fstab);
  field("unreadable", facts.unreadable);
  field("firewall", facts.firewall);
  field("clock_synchronised", facts.clock_synchronised);
}

}  // namespace sparkplan
