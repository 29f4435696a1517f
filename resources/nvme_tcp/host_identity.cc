#include "resources/nvme_tcp/host_identity.h"

#include <algorithm>

#include "engine/core/ascii.h"
#include "engine/core/diagnostic.h"
#include "engine/core/text.h"

namespace sparkplan::nvme_tcp {
namespace {

constexpr std::string_view kUuidNqn = "nqn.2014-08.org.nvmexpress:uuid:";

/// "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee". Source: RFC 9562, 4.
bool is_uuid(std::string_view text) {
  constexpr std::string_view kForm = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  return std::equal(text.begin(), text.end(), kForm.begin(), kForm.end(), [](char c, char form) {
    const bool hexadecimal = is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    return form == '-' ? c == '-' : hexadecimal;
  });
}

/// Empty for a missing file.
Result<std::string> read_line(const std::string& file, const NodeReader& node) {
  SPARK_TRY(const std::string text, or_empty(node.read_file(file)));
  return std::string(trim(text));
}

Result<std::string> new_line(const std::string& file, const NodeReader& node) {
  SPARK_TRY(const std::string other, read_line(file == kHostIdFile ? kHostNqnFile : kHostIdFile, node));
  std::string uuid = other;
  if (file == kHostIdFile) uuid = other.starts_with(kUuidNqn) ? other.substr(kUuidNqn.size()) : "";
  if (file == kHostNqnFile && !other.empty() && !is_uuid(other)) {
    return failure(ErrorCode::kRefused,
                   std::string(kHostIdFile) + " is not a UUID, and the kernel accepts no other hostid",
                   "remove it: the next apply creates one");
  }
  if (!is_uuid(uuid)) {
    SPARK_TRY(const std::string random, node.read_file("/proc/sys/kernel/random/uuid"));
    uuid = std::string(trim(random));
  }
  return file == kHostIdFile ? uuid : std::string(kUuidNqn) + uuid;
}

Diagnostic shared(const std::string& what, const std::string& file, const std::string& self, const std::string& other,
                  SourceRange where) {
  return finding("nvme_tcp.shared-identity",
                 self + " and " + other + " are the same host for NVMe servers: both have the " + what + " in " + file,
                 "one was cloned from the other: remove /etc/nvme/hostnqn and /etc/nvme/hostid on the clone, and the "
                 "next apply creates new ones",
                 where);
}

}  // namespace

ArtifactId identity_artifact(const char* file) { return {"nvme_identity", file}; }

Observation observe_identity(const std::string& file, const NodeReader& node) {
  const auto line = read_line(file, node);
  if (!line) return line.error();
  if (line->empty()) return Absent{};
  return Present{Value::map({{"there", true}}), {}};
}

Result<void> make_identity(const std::string& file, const Observation& after, Node& node) {
  const Observation now = observe_identity(file, node);
  if (const auto* error = std::get_if<Error>(&now)) return failure(*error);
  const bool there = std::holds_alternative<Present>(now);
  if (std::holds_alternative<Absent>(after)) return there ? node.remove_file(file) : Result<void>();
  if (there) return {};
  SPARK_TRY(const std::string line, new_line(file, node));
  return node.write_file(file, FileContent{line + "\n", 0644, 0, 0});
}

Result<Value> identity_of(const NodeReader& node) {
  SPARK_TRY(const std::string hostnqn, read_line(kHostNqnFile, node));
  SPARK_TRY(const std::string hostid, read_line(kHostIdFile, node));
  if (hostnqn.empty() && hostid.empty()) return Value();
  return Value::map({{"hostid", hostid}, {"hostnqn", hostnqn}});
}

std::vector<Diagnostic> shared_identities(const ClusterView& view, SourceRange where) {
  std::vector<Diagnostic> findings;
  const auto exported = [](const NodeExports& exports, const char* key) {
    const auto found = exports.find("nvme_tcp");
    return found == exports.end() ? std::string() : found->second.text_or(key, "");
  };
  const auto own = view.exports.find(view.self.name.str());
  if (own == view.exports.end()) return findings;
  for (const auto& [name, exports] : view.exports) {
    if (name == view.self.name.str()) continue;
    const std::string nqn = exported(own->second, "hostnqn");
    const std::string id = exported(own->second, "hostid");
    if (!nqn.empty() && nqn == exported(exports, "hostnqn")) {
      findings.push_back(shared(nqn, kHostNqnFile, view.self.name.str(), name, where));
    } else if (!id.empty() && id == exported(exports, "hostid")) {
      findings.push_back(shared(id, kHostIdFile, view.self.name.str(), name, where));
    }
  }
  return findings;
}

}  // namespace sparkplan::nvme_tcp
