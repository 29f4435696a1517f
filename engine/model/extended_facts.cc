#include "engine/model/extended_facts.h"

#include "engine/model/field_reader.h"

namespace sparkplan {
namespace {

using Texts = std::map<std::string, std::string>;

Value encode_text(const std::string& text) { return {text}; }

template <class T>
Value encode_map(const std::map<std::string, T>& map) {
  Value value = Value::map();
  for (const auto& [key, item] : map) value.set(key, item);
  return value;
}

Texts texts(FieldReader& fields, std::string_view key) {
  return fields.map<std::string, std::string>(key, same_key, decode_text);
}

Result<std::int64_t> decode_number(const Value& value) {
  if (const auto* number = value.integer()) return *number;
  return failure(FieldReader::wrong_kind("integer", value));
}

Value encode_neighbour(const NeighbourFacts& one) {
  return Value::map({{"interface", one.interface}, {"address", one.address}, {"mac", one.mac}, {"state", one.state}});
}
Result<NeighbourFacts> decode_neighbour(const Value& value) {
  FieldReader fields(value);
  NeighbourFacts one{fields.text("interface"), fields.text("address"), fields.text("mac"), fields.text("state")};
  SPARK_CHECK(std::move(fields).check());
  return one;
}

Value encode_unit(const UnitFacts& unit) {
  return Value::map(
      {{"name", unit.name}, {"active", unit.active}, {"enabled", unit.enabled}, {"locked_memory", unit.locked_memory}});
}
Result<UnitFacts> decode_unit(const Value& value) {
  FieldReader fields(value);
  UnitFacts unit{fields.text("name"), fields.text("active"), fields.text("enabled"), fields.text("locked_memory")};
  SPARK_CHECK(std::move(fields).check());
  return unit;
}

Value encode_verdict(const InputVerdictFacts& one) {
  return Value::map({{"interface", one.interface}, {"from", one.from}, {"verdict", one.verdict}, {"rule", one.rule}});
}
Result<InputVerdictFacts> decode_verdict(const Value& value) {
  FieldReader fields(value);
  InputVerdictFacts one{fields.text("interface"), fields.text("from"), fields.text("verdict"), fields.text("rule")};
  SPARK_CHECK(std::move(fields).check());
  return one;
}

Value encode_input_chain(const InputChainFacts& one) {
  return Value::map({{"name", one.name}, {"verdicts", encode_list(one.verdicts, encode_verdict)}});
}
Result<InputChainFacts> decode_input_chain(const Value& value) {
  FieldReader fields(value);
  InputChainFacts one;
  one.name = fields.text("name");
  one.verdicts = fields.list<InputVerdictFacts>("verdicts", decode_verdict);
  SPARK_CHECK(std::move(fields).check());
  return one;
}

Value encode_firewall(const FirewallFacts& one) {
  return Value::map({{"ufw", one.ufw}, {"input_chains", encode_list(one.input_chains, encode_input_chain)}});
}
Result<std::optional<FirewallFacts>> decode_firewall(const Value& value) {
  FieldReader fields(value);
  FirewallFacts one;
  one.ufw = fields.text("ufw");
  one.input_chains = fields.list<InputChainFacts>("input_chains", decode_input_chain);
  SPARK_CHECK(std::move(fields).check());
  return std::optional(std::move(one));
}

Value encode_nvme(const NvmeControllerFacts& one) {
  return Value::map({{"name", one.name},
                     {"transport", one.transport},
                     {"address", one.address},
                     {"state", one.state},
                     {"subsystem", one.subsystem}});
}
Result<NvmeControllerFacts> decode_nvme(const Value& value) {
  FieldReader fields(value);
  NvmeControllerFacts one{fields.text("name"), fields.text("transport"), fields.text("address"), fields.text("state"),
                          fields.text("subsystem")};
  SPARK_CHECK(std::move(fields).check());
  return one;
}

Value encode_firmware(const RdmaFirmwareFacts& one) {
  return Value::map(
      {{"device", one.device}, {"firmware", one.firmware}, {"board", one.board}, {"errors", encode_map(one.errors)}});
}
Result<RdmaFirmwareFacts> decode_firmware(const Value& value) {
  FieldReader fields(value);
  RdmaFirmwareFacts one;
  one.device = fields.text("device");
  one.firmware = fields.text("firmware");
  one.board = fields.text("board");
  one.errors = fields.map<std::string, std::int64_t>("errors", same_key, decode_number);
  SPARK_CHECK(std::move(fields).check());
  return one;
}

Value encode_nccl_file(const NcclFileFacts& one) {
  return Value::map({{"file", one.file}, {"variables", encode_map(one.variables)}});
}
Result<NcclFileFacts> decode_nccl_file(const Value& value) {
  FieldReader fields(value);
  NcclFileFacts one;
  one.file = fields.text("file");
  one.variables = texts(fields, "variables");
  SPARK_CHECK(std::move(fields).check());
  return one;
}

Value encode_fstab(const FstabFacts& one) {
  return Value::map({{"device", one.device}, {"target", one.target}, {"type", one.type}, {"options", one.options}});
}
Result<FstabFacts> decode_fstab(const Value& value) {
  FieldReader fields(value);
  FstabFacts one{fields.text("device"), fields.text("target"), fields.text("type"), fields.text("options")};
  SPARK_CHECK(std::move(fields).check());
  return one;
}

Value encode_login(const LoginFacts& login) {
  Value value = Value::map({{"user", login.user},
                            {"locked_memory_soft", login.locked_memory_soft},
                            {"locked_memory_hard", login.locked_memory_hard},
                            {"environment", encode_map(login.environment)}});
  if (login.uid) value.set("uid", *login.uid);
  if (login.sudo_without_password) value.set("sudo_without_password", *login.sudo_without_password);
  return value;
}
Result<LoginFacts> decode_login(const Value& value) {
  FieldReader fields(value);
  LoginFacts login;
  login.user = fields.text("user");
  login.locked_memory_soft = fields.text("locked_memory_soft");
  login.locked_memory_hard = fields.text("locked_memory_hard");
  login.environment = texts(fields, "environment");
  const auto has = [&](std::string_view key) { return value.is_map() && value.find(key) != nullptr; };
  if (has("uid")) login.uid = fields.integer<std::int64_t>("uid", 0);
  if (has("sudo_without_password")) login.sudo_without_password = fields.boolean("sudo_without_password", false);
  SPARK_CHECK(std::move(fields).check());
  return login;
}

}  // namespace

Value encode(const ExtendedFacts& facts) {
  Value value = Value::map({{"neighbours", encode_list(facts.neighbours, encode_neighbour)},
                            {"sshd", encode_map(facts.sshd)},
                            {"login", encode_login(facts.login)},
                            {"netplan_error", facts.netplan_error},
                            {"netplan_merged", facts.netplan_merged},
                            {"units", encode_list(facts.units, encode_unit)},
                            {"kernel_modules", encode_list(facts.kernel_modules, encode_text)},
                            {"modules_at_boot", encode_list(facts.modules_at_boot, encode_text)},
                            {"sysctl", encode_map(facts.sysctl)},
                            {"nvme", encode_list(facts.nvme, encode_nvme)},
                            {"rdma_firmware", encode_list(facts.rdma_firmware, encode_firmware)},
                            {"nccl_files", encode_list(facts.nccl_files, encode_nccl_file)},
                            {"nccl_profile", encode_map(facts.nccl_profile)},
                            {"fstab", encode_list(facts.fstab, encode_fstab)},
                            {"unreadable", encode_map(facts.unreadable)}});
  if (facts.firewall) value.set("firewall", encode_firewall(*facts.firewall));
  if (facts.clock_synchronised) value.set("clock_synchronised", *facts.clock_synchronised);
  return value;
}

Result<ExtendedFacts> decode_extended_facts(const Value& value) {
  FieldReader fields(value);
  ExtendedFacts facts;
  facts.neighbours = fields.list<NeighbourFacts>("neighbours", decode_neighbour);
  facts.sshd = texts(fields, "sshd");
  facts.login = fields.object<LoginFacts>("login", {}, decode_login);
  facts.firewall = fields.object<std::optional<FirewallFacts>>("firewall", std::nullopt, decode_firewall);
  if (value.is_map() && value.find("clock_synchronised") != nullptr) {
    facts.clock_synchronised = fields.boolean("clock_synchronised", false);
  }
  facts.netplan_error = fields.text("netplan_error");
  facts.netplan_merged = fields.text("netplan_merged");
  facts.units = fields.list<UnitFacts>("units", decode_unit);
  facts.kernel_modules = fields.list<std::string>("kernel_modules", decode_text);
  facts.modules_at_boot = fields.list<std::string>("modules_at_boot", decode_text);
  facts.sysctl = texts(fields, "sysctl");
  facts.nvme = fields.list<NvmeControllerFacts>("nvme", decode_nvme);
  facts.rdma_firmware = fields.list<RdmaFirmwareFacts>("rdma_firmware", decode_firmware);
  facts.nccl_files = fields.list<NcclFileFacts>("nccl_files", decode_nccl_file);
  facts.nccl_profile = texts(fields, "nccl_profile");
  facts.fstab = fields.list<FstabFacts>("fstab", decode_fstab);
  facts.unreadable = texts(fields, "unreadable");
  SPARK_CHECK(std::move(fields).check());
  return facts;
}

}  // namespace sparkplan
