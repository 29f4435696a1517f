#include "engine/load/profile.h"

namespace sparkplan {
namespace {

void place_everywhere(Value& value, SourceRange where) {
  value.where = where;
  if (auto* entries = value.entries()) {
    for (auto& entry : *entries) {
      entry.key_where = where;
      place_everywhere(entry.value, where);
    }
  } else if (auto* items = value.list_items()) {
    for (auto& item : *items) place_everywhere(item, where);
  }
}

Value unlimited_memlock(const char* domain) {
  return Value::map({{"domain", domain}, {"item", "memlock"}, {"type", "both"}, {"value", "unlimited"}});
}

// RDMA pins memory, so memlock has to be unlimited; "*" does not match root. 256 MiB socket buffers
// are what one stream needs at 100 Gb/s.
Value dgx_spark(std::string_view ssh_user) {
  Value sections = Value::map();
  sections.set("sysctl", Value::map({{"net.core.rmem_max", "256MiB"}, {"net.core.wmem_max", "256MiB"}}));
  sections.set("limits", Value::list({unlimited_memlock("*"), unlimited_memlock("root")}));
  sections.set("hosts", Value::map({{"suffix", "-fabric"}}));
  if (!ssh_user.empty()) {
    sections.set("ssh_trust", Value::map({{"users", Value::list({Value(ssh_user)})}}));
  }
  sections.set("nccl", Value::map({{"mode", "safe"}}));
  return sections;
}

}  // namespace

Value profile_sections(std::string_view name, std::string_view ssh_user, SourceRange where) {
  if (name != "dgx-spark") return {};
  Value sections = dgx_spark(ssh_user);
  place_everywhere(sections, where);
  return sections;
}

}  // namespace sparkplan
