#include "engine/model/host_facts.h"

#include <string_view>

#include "engine/model/field_reader.h"

namespace sparkplan {
namespace {

Value encode_text(const std::string& text) { return {text}; }

Value encode_route(const RouteFacts& route) {
  Value value = Value::map({{"interface", route.interface},
                            {"destination", route.destination},
                            {"gateway", route.gateway},
                            {"metric", route.metric},
                            {"protocol", route.protocol},
                            {"link_down", route.link_down},
                            {"table", route.table}});
  if (route.stands_for != 1) value.set("stands_for", route.stands_for);
  return value;
}

Result<RouteFacts> decode_route(const Value& value) {
  FieldReader fields(value);
  RouteFacts route;
  route.interface = fields.text("interface");
  route.destination = fields.require("destination").text("destination");
  route.gateway = fields.text("gateway");
  route.metric = fields.integer("metric", route.metric);
  route.protocol = fields.text("protocol");
  route.link_down = fields.boolean("link_down", route.link_down);
  route.table = fields.integer("table", route.table);
  route.stands_for = fields.integer("stands_for", route.stands_for);
  SPARK_CHECK(std::move(fields).check());
  return route;
}

Value encode_profile(const NetworkProfile& profile) {
  return Value::map({{"id", profile.id},
                     {"uuid", profile.uuid},
                     {"type", profile.type},
                     {"interface", profile.interface},
                     {"mac", profile.mac},
                     {"method", profile.method},
                     {"autoconnect", profile.autoconnect},
                     {"origin", to_string(profile.origin)},
                     {"file", profile.file}});
}

Result<NetworkProfile> decode_profile(const Value& value) {
  FieldReader fields(value);
  NetworkProfile profile;
  profile.id = fields.text("id");
  profile.uuid = fields.text("uuid");
  profile.type = fields.text("type");
  profile.interface = fields.text("interface");
  profile.mac = fields.text("mac");
  profile.method = fields.text("method");
  profile.autoconnect = fields.boolean("autoconnect", profile.autoconnect);
  const auto origin = fields.text("origin");
  for (const auto one : {ProfileOrigin::kGenerated, ProfileOrigin::kNetplan}) {
    if (origin == to_string(one)) profile.origin = one;
  }
  profile.file = fields.text("file");
  SPARK_CHECK(std::move(fields).check());
  return profile;
}

Value encode_host_key(const HostKeyFacts& key) {
  return Value::map({{"type", key.type}, {"fingerprint", key.fingerprint}});
}

Result<HostKeyFacts> decode_host_key(const Value& value) {
  FieldReader fields(value);
  HostKeyFacts key{fields.text("type"), fields.text("fingerprint")};
  SPARK_CHECK(std::move(fields).check());
  return key;
}

Value encode_netplan_file(const NetplanFileFacts& file) {
  return Value::map({{"path", file.path}, {"mode", static_cast<std::int64_t>(file.mode)}});
}

Result<NetplanFileFacts> decode_netplan_file(const Value& value) {
  FieldReader fields(value);
  NetplanFileFacts file;
  file.path = fields.text("path");
  file.mode = fields.integer("mode", file.mode);
  SPARK_CHECK(std::move(fields).check());
  return file;
}

void set_if(Value& value, std::string_view key, const std::optional<std::int64_t>& number) {
  if (number) value.set(key, *number);
}

std::optional<std::int64_t> number_in(FieldReader& fields, const Value& value, std::string_view key) {
  if (!value.is_map() || value.find(key) == nullptr) return std::nullopt;
  return fields.integer<std::int64_t>(key, 0);
}

}  // namespace

std::string_view to_string(ProfileOrigin origin) {
  switch (origin) {
    case ProfileOrigin::kGenerated:
      return "generated";
    case ProfileOrigin::kNetplan:
      return "netplan";
    case ProfileOrigin::kHandWritten:
      break;
  }
  return "hand-written";
}

Value encode(const HostFacts& facts) {
  Value value = Value::map({{"vendor", facts.vendor},
                            {"board", facts.board},
                            {"bios_version", facts.bios_version},
                            {"bios_date", facts.bios_date},
                            {"kernel_command_line", facts.kernel_command_line},
                            {"gpu_driver", facts.gpu_driver},
                            {"nvme_host_nqn", facts.nvme_host_nqn},
                            {"nvme_host_id", facts.nvme_host_id}});
  set_if(value, "memory_available_bytes", facts.memory_available);
  set_if(value, "cma_total_bytes", facts.cma_total);
  set_if(value, "cma_free_bytes", facts.cma_free);
  value.set("renderers", encode_list(facts.renderers, encode_text));
  value.set("host_keys", encode_list(facts.host_keys, encode_host_key));
  value.set("routes", encode_list(facts.routes, encode_route));
  value.set("network_profiles", encode_list(facts.network_profiles, encode_profile));
  value.set("netplan_files", encode_list(facts.netplan_files, encode_netplan_file));
  Value unreadable = Value::map();
  for (const auto& [name, why] : facts.unreadable) unreadable.set(name, why);
  value.set("unreadable", std::move(unreadable));
  return value;
}

Result<HostFacts> decode_host_facts(const Value& value) {
  FieldReader fields(value);
  HostFacts facts;
  facts.vendor = fields.text("vendor");
  facts.board = fields.text("board");
  facts.bios_version = fields.text("bios_version");
  facts.bios_date = fields.text("bios_date");
  facts.kernel_command_line = fields.text("kernel_command_line");
  facts.gpu_driver = fields.text("gpu_driver");
  facts.nvme_host_nqn = fields.text("nvme_host_nqn");
  facts.nvme_host_id = fields.text("nvme_host_id");
  facts.memory_available = number_in(fields, value, "memory_available_bytes");
  facts.cma_total = number_in(fields, value, "cma_total_bytes");
  facts.cma_free = number_in(fields, value, "cma_free_bytes");
  facts.renderers = fields.list<std::string>("renderers", decode_text);
  facts.host_keys = fields.list<HostKeyFacts>("host_keys", decode_host_key);
  facts.routes = fields.list<RouteFacts>("routes", decode_route);
  facts.network_profiles = fields.list<NetworkProfile>("network_profiles", decode_profile);
  facts.netplan_files = fields.list<NetplanFileFacts>("netplan_files", decode_netplan_file);
  facts.unreadable = fields.map<std::string, std::string>("unreadable", same_key, decode_text);
  SPARK_CHECK(std::move(fields).check());
  return facts;
}

}  // namespace sparkplan
