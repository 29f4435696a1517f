#include "engine/model/extended_facts.h"

#include "engine/model/fact_bounds.h"

namespace sparkplan {

void list_fields(FieldVisitor& field, NeighbourFacts& neighbour) {
  field("interface", neighbour.interface, kFactText);
  field("address", neighbour.address, kFactText);
  field("mac", neighbour.mac, kFactText);
  field("state", neighbour.state, kFactText);
}

void list_fields(FieldVisitor& field, UnitFacts& unit) {
  field("name", unit.name, kFactText);
  field("active", unit.active, kFactText);
  field("enabled", unit.enabled, kFactText);
  field("locked_memory", unit.locked_memory, kFactText);
}

void list_fields(FieldVisitor& field, InputVerdictFacts& verdict) {
  field("interface", verdict.interface, kFactText);
  field("from", verdict.from, kFactText);
  field("verdict", verdict.verdict, kFactText);
  field("rule", verdict.rule, kFactText);
  field("to", verdict.to, kFactText);
}

void list_fields(FieldVisitor& field, InputChainFacts& chain) {
  field("name", chain.name, kFactText);
  field("verdicts", chain.verdicts, kOptional.first(kMostOfMany));
}

void list_fields(FieldVisitor& field, FirewallFacts& firewall) {
  field("ufw", firewall.ufw, kFactText);
  field("input_chains", firewall.input_chains, kOptional.first(kMostOfFew));
  field("forward_chains", firewall.forward_chains, kOptional.first(kMostOfFew));
  if (!field.reading()) return;
  std::size_t left = kMostVerdictsInAll;
  keep_first(firewall.input_chains, &InputChainFacts::verdicts, left);
  keep_first(firewall.forward_chains, &InputChainFacts::verdicts, left);
}

void list_fields(FieldVisitor& field, NvmeControllerFacts& controller) {
  field("name", controller.name, kFactText);
  field("transport", controller.transport, kFactText);
  field("address", controller.address, kFactText);
  field("state", controller.state, kFactText);
  field("subsystem", controller.subsystem, kFactText);
}

void list_fields(FieldVisitor& field, RdmaFirmwareFacts& firmware) {
  field("device", firmware.device, kFactText);
  field("firmware", firmware.firmware, kFactText);
  field("board", firmware.board, kFactText);
  field("errors", firmware.errors, kCount.first(kMostOfFew));
}

void list_fields(FieldVisitor& field, NcclFileFacts& file) {
  field("file", file.file, kLongFactText);
  field("variables", file.variables, kLongFactText.first(kMostOfMany));
}

void list_fields(FieldVisitor& field, FstabFacts& line) {
  field("device", line.device, kLongFactText);
  field("target", line.target, kLongFactText);
  field("type", line.type, kFactText);
  field("options", line.options, kLongFactText);
}

void list_fields(FieldVisitor& field, LoginFacts& login) {
  field("user", login.user, kFactText);
  field("locked_memory_soft", login.locked_memory_soft, kFactText);
  field("locked_memory_hard", login.locked_memory_hard, kFactText);
  field("environment", login.environment, kLongFactText.first(kMostOfMany));
  field("uid", login.uid, kCount);
  field("sudo_without_password", login.sudo_without_password);
  field("linger", login.linger);
}

void list_fields(FieldVisitor& field, ExtendedFacts& facts) {
  field("neighbours", facts.neighbours, kOptional.first(kMostOfNetwork));
  field("sshd", facts.sshd, kLongFactText.first(kMostOfMany));
  field("login", facts.login);
  field("netplan_error", facts.netplan_error, kLongFactText);
  field("netplan_merged", facts.netplan_merged, kOptional.cut_at(kLongestNetplanText));
  field("units", facts.units, kOptional.first(kMostUnits));
  field("earlyoom_avoids", facts.earlyoom_avoids, kLongFactText);
  field("kernel_modules", facts.kernel_modules, kFactText.first(kMostOfMany));
  field("modules_at_boot", facts.modules_at_boot, kFactText.first(kMostOfMany));
  field("sysctl", facts.sysctl, kFactText.first(kMostOfNetwork));
  field("nvme", facts.nvme, kOptional.first(kMostOfMany));
  field("rdma_firmware", facts.rdma_firmware, kOptional.first(kMostRdmaDevices));
  field("nccl_files", facts.nccl_files, kOptional.first(kMostOfFew));
  field("nccl_profile", facts.nccl_profile, kLongFactText.first(kMostOfMany));
  field("fstab", facts.fstab, kOptional.first(kMostOfMany));
  field("unreadable", facts.unreadable, kLongFactText.first(kMostOfMany));
  field("firewall", facts.firewall);
  field("clock_synchronised", facts.clock_synchronised);
  field("removes_ipc", facts.removes_ipc);
  field("own_name_addresses", facts.own_name_addresses, kFactText.first(kMostOfFew));
  field("containers", facts.containers);
  field("gpu", facts.gpu);
  field("memory_pressure_percent", facts.memory_pressure);
  field("shared_memory", facts.shared_memory);
  field("swap", facts.swap);
  field("software", facts.software);
}

}  // namespace sparkplan
