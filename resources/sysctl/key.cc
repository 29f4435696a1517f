#include <algorithm>
#include <array>
#include <string>
#include <tuple>

#include "engine/core/text.h"
#include "resources/sysctl/sysctl.h"

namespace sparkplan::sysctl {
namespace {

/// The index of the interface's name in net/ipv4/conf/IF/...
constexpr std::size_t kInterfaceComponent = 3;

bool is_lower_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

/// Names of parameters are lower case; names of interfaces may also have upper case and a few signs.
bool is_allowed(char c, bool interface_name) {
  if (is_lower_or_digit(c) || c == '_' || c == '-' || c == '.') return true;
  return interface_name && ((c >= 'A' && c <= 'Z') || c == ':' || c == '@' || c == '+');
}

bool has_interface_component(std::span<const std::string_view> parts) {
  return parts.size() > kInterfaceComponent + 1 && parts[0] == "net" && (parts[1] == "ipv4" || parts[1] == "ipv6") &&
         (parts[2] == "conf" || parts[2] == "neigh");
}

tl::unexpected<Error> bad_key(std::string_view text, const std::string& why) {
  return failure(ErrorCode::kInvalidInput, "\"" + std::string(text) + "\" is not a kernel parameter: " + why,
                 "write it as `sysctl -a` prints it, such as net.core.rmem_max");
}

/// Swaps dots and slashes; a second call restores the text.
std::string swap_separators(std::string_view text) {
  std::string swapped(text);
  for (char& c : swapped) c = c == '.' ? '/' : c == '/' ? '.' : c;
  return swapped;
}

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& list, std::string_view path) {
  return std::ranges::find(list, path) != list.end();
}

/// A higher rank is set later. A switch of forwarding for all interfaces also sets it, and more, on each interface. So
/// it comes before the settings of single interfaces.
/// Source: Documentation/networking/ip-sysctl.rst, "ip_forward".
int rank(const Key& key) {
  const bool for_all = key.path == "net/ipv4/ip_forward" || key.path.starts_with("net/ipv4/conf/all/") ||
                       key.path.starts_with("net/ipv6/conf/all/");
  return for_all ? 0 : 1;
}

}  // namespace

Result<Key> parse_key(std::string_view text) {
  const std::size_t separator = text.find_first_of("./");
  if (separator == std::string_view::npos) return bad_key(text, "it has only one component");
  if (text.front() == '-') return bad_key(text, "a leading \"-\" would mean something else in sysctl.d");
  if (text.find_first_of("*?[]") != std::string_view::npos)
    return bad_key(text, "patterns are not supported, name each key");

  Key key{text[separator] == '.' ? swap_separators(text) : std::string(text)};
  const std::vector<std::string_view> parts = split(key.path, '/');
  const bool with_interface = has_interface_component(parts);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].empty()) return bad_key(text, "it has an empty component");
    if (parts[i] == "." || parts[i] == "..") return bad_key(text, "\"" + std::string(parts[i]) + "\" is not allowed");
    for (const char c : parts[i]) {
      if (!is_allowed(c, with_interface && i == kInterfaceComponent)) {
        return bad_key(text, "the character " + printable(std::string("\"") + c + "\"") + " is not allowed there");
      }
    }
  }
  return key;
}

std::string dotted(const Key& key) { return swap_separators(key.path); }

std::optional<std::string> interface_of(const Key& key) {
  const std::vector<std::string_view> parts = split(key.path, '/');
  if (!has_interface_component(parts)) return std::nullopt;
  const std::string_view name = parts[kInterfaceComponent];
  if (name == "all" || name == "default") return std::nullopt;
  return std::string(name);
}

Reversible reversible_of(const Key& key) {
  // These stay set until the next boot, or start an action and have no value.
  // Source: Documentation/admin-guide/sysctl/{kernel,vm}.rst; Documentation/admin-guide/LSM/Yama.rst.
  static constexpr auto kOneWay = std::to_array<std::string_view>(
      {"kernel/modules_disabled", "kernel/kexec_load_disabled", "kernel/unprivileged_bpf_disabled",
       "kernel/yama/ptrace_scope", "vm/compact_memory", "vm/drop_caches"});
  // These clear their counterpart or reset others, or their earlier value may not be available again.
  static constexpr auto kWithSideEffects = std::to_array<std::string_view>(
      {"vm/dirty_bytes", "vm/dirty_ratio", "vm/dirty_background_bytes", "vm/dirty_background_ratio",
       "vm/overcommit_ratio", "vm/overcommit_kbytes", "vm/nr_hugepages", "net/ipv4/ip_forward",
       "net/ipv4/conf/all/forwarding", "net/ipv6/conf/all/forwarding", "net/ipv6/conf/all/disable_ipv6"});
  if (contains(kOneWay, key.path)) return Reversible::kNo;
  return contains(kWithSideEffects, key.path) ? Reversible::kBestEffort : Reversible::kExact;
}

bool set_before(const Key& a, const Key& b) { return std::tuple(rank(a), dotted(a)) < std::tuple(rank(b), dotted(b)); }

}  // namespace sparkplan::sysctl
