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

// RDMA pins memory, so memlock must be unlimited; "*" does not match root. One stream at 100 Gb/s needs socket buffers
// of 256 MiB. With RemoveIPC=yes, logind deletes the shared memory of a running job when its user's last login ends,
// and each run of sparkplan is a login.
Value dgx_spark(std::string_view ssh_user) {
  Value sections = Value::map();
  sections.set("sysctl", Value::map({{"net.core.rmem_max", "256MiB"}, {"net.core.wmem_max", "256MiB"}}));
  sections.set("limits", Value::list({unlimited_memlock("*"), unlimited_memlock("root")}));
  sections.set("hosts", Value::map({{"suffix", "-fabric"}}));
  if (!ssh_user.empty()) {
    sections.set("ssh_trust", Value::map({{"users", Value::list({Value(ssh_user)})}}));
  }
  sections.set("nccl", Value::map({{"mode", "safe"}}));
  sections.set("files", Value::list({Value::map({{"path", "/etc/systemd/logind.conf.d/60-sparkplan.conf"},
                                                 {"content", "[Login]\nRemoveIPC=no\n"}})}));
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
