#include "resources/sysctl/sysctl.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <limits>

#include "engine/core/ascii.h"
#include "engine/core/text.h"
#include "engine/domain/ahead/provision.h"

namespace sparkplan::sysctl {
namespace {

/// For modprobe, which only reads its lists in a dry run.
constexpr std::chrono::seconds kDeadline{5};
constexpr std::int64_t kInt = std::numeric_limits<std::int32_t>::max();

/// The numbers that the kernel accepts, in each place of the value.
struct Bounds {
  std::string_view path;
  std::int64_t least;
  std::int64_t most;
};

/// Only bounds that all kernels of a DGX Spark have (6.11 to 7.0). A socket buffer cannot be smaller than one packet
/// with its header, whose size differs by kernel: the numbers here are refused by all.
/// Sources: Linux, Documentation/admin-guide/sysctl; kernel/sysctl.c, mm/vmscan.c, mm/util.c, kernel/pid.c,
/// net/core/sysctl_net_core.c, net/ipv4/sysctl_net_ipv4.c.
constexpr std::array<Bounds, 21> kBounds{{{"fs/nr_open", 8, kInt},
                                          {"kernel/dmesg_restrict", 0, 1},
                                          {"kernel/kptr_restrict", 0, 2},
                                          {"kernel/pid_max", 301, 4'194'304},
                                          {"net/core/busy_poll", 0, kInt},
                                          {"net/core/busy_read", 0, kInt},
                                          {"net/core/rmem_default", 2048, kInt},
                                          {"net/core/rmem_max", 2048, kInt},
                                          {"net/core/somaxconn", 0, kInt},
                                          {"net/core/wmem_default", 4096, kInt},
                                          {"net/core/wmem_max", 4096, kInt},
                                          {"net/ipv4/ip_local_port_range", 1, 65'535},
                                          {"net/ipv4/tcp_rmem", 1, kInt},
                                          {"net/ipv4/tcp_wmem", 1, kInt},
                                          {"vm/compaction_proactiveness", 0, 100},
                                          {"vm/dirty_background_ratio", 0, 100},
                                          {"vm/dirty_ratio", 0, 100},
                                          {"vm/max_map_count", 0, kInt},
                                          {"vm/overcommit_memory", 0, 2},
                                          {"vm/panic_on_oom", 0, 2},
                                          {"vm/swappiness", 0, 200}}};

/// Ends of the names of parameters that are texts or lists of any length, although they may look like numbers.
constexpr std::array<std::string_view, 10> kFreeForm{"_bitmap", "_cpumask", "_key",     "_list",      "_mask",
                                                     "_ports",  "_secret",  "hostname", "domainname", "core_pattern"};

bool reads_as_number(std::string_view word) {
  if (word.starts_with('-')) word.remove_prefix(1);
  return !word.empty() && std::ranges::all_of(word, is_digit);
}

/// "4096 131072 6291456"
bool are_numbers(const std::vector<std::string>& words) { return std::ranges::all_of(words, reads_as_number); }

/// A number beyond 64 bits is the largest or smallest of them.
std::int64_t number_of(const std::string& word) {
  std::int64_t number = 0;
  const auto error = std::from_chars(word.data(), word.data() + word.size(), number).ec;
  using Limits = std::numeric_limits<std::int64_t>;
  if (error == std::errc::result_out_of_range) return word.starts_with('-') ? Limits::min() : Limits::max();
  return number;
}

bool is_free_form(const Key& key) {
  return std::ranges::any_of(kFreeForm, [&](std::string_view end) { return key.path.ends_with(end); });
}

std::string counted_numbers(std::size_t count) {
  return count == 1 ? std::string("one number") : std::to_string(count) + " numbers";
}

/// The kernel loads the module of an algorithm by name. Source: net/ipv4/tcp_cong.c, net/sched/sch_api.c.
std::optional<std::string> module_of(const Key& key, std::string_view wanted) {
  constexpr std::array<std::string_view, 4> kOfTheKernel{"bfifo", "mq", "noqueue", "pfifo_fast"};
  if (key.path == "net/ipv4/tcp_congestion_control") return "tcp_" + std::string(wanted);
  if (key.path != "net/core/default_qdisc") return std::nullopt;
  const bool always_there = wanted == "pfifo" || std::ranges::find(kOfTheKernel, wanted) != kOfTheKernel.end();
  return always_there ? std::nullopt : std::optional("sch_" + std::string(wanted));
}

bool is_available(const Key& key, std::string_view wanted, const NodeReader& node) {
  if (key.path != "net/ipv4/tcp_congestion_control") return false;
  const auto list = node.read_file(std::string(kProcSys) + "net/ipv4/tcp_available_congestion_control");
  const auto names = words_of(list ? trim(*list) : std::string_view());
  return std::ranges::find(names, wanted) != names.end();
}

/// Nothing also if modprobe does not answer.
std::optional<std::string> why_not_loadable(const Key& key, const std::string& wanted, const ChangesAhead& ahead,
                                            const NodeReader& node) {
  const auto module = module_of(key, wanted);
  if (!module || may_bring_modules(ahead) || is_available(key, wanted, node)) return std::nullopt;
  const std::array<std::string, 4> argv{"modprobe", "--dry-run", "--", *module};
  const auto output = node.query(argv, kDeadline);
  const bool missing =
      output && output->exit_status != 0 && output->standard_error.find("not found") != std::string::npos;
  return missing ? std::optional("the kernel has no module " + *module) : std::nullopt;
}

}  // namespace

std::optional<std::string> why_refused(const Key& key, std::string_view wanted, std::string_view running) {
  const auto shown = words_of(running);
  if (shown.empty() || !are_numbers(shown) || is_free_form(key)) return std::nullopt;
  const auto words = words_of(wanted);
  if (words.size() != shown.size() || !are_numbers(words)) {
    return "the kernel has " + counted_numbers(shown.size()) + " there, now " + std::string(running);
  }
  const auto* bounds = std::ranges::find(kBounds, key.path, &Bounds::path);
  if (bounds == kBounds.end()) return std::nullopt;
  for (const std::string& word : words) {
    const std::int64_t number = number_of(word);
    if (number > bounds->most) return "the kernel accepts at most " + std::to_string(bounds->most);
    if (number < bounds->least) return "the kernel accepts no less than " + std::to_string(bounds->least);
  }
  return std::nullopt;
}

std::vector<Ineffective> values_to_be_refused(const ChangesAhead& ahead, const NodeReader& node) {
  const auto wanted = ahead.find("sysctl");
  if (wanted == ahead.end() || !node.live()) return {};
  std::vector<Ineffective> found;
  for (const auto& [name, value] : wanted->second) {
    const Result<Key> key = parse_key(name);
    const std::string text = value.text_or("running", "");
    if (!key || text.empty()) continue;
    const auto running = node.read_file(std::string(kProcSys) + key->path);
    auto reason = running ? why_refused(*key, text, canonical_value(*running)) : std::nullopt;
    if (!reason) reason = why_not_loadable(*key, text, ahead, node);
    if (!reason) continue;
    found.push_back({name, "sysctl.value-refused", name + " cannot be " + text + ": " + *reason,
                     "write a value as the kernel shows it, within its bounds"});
  }
  return found;
}

}  // namespace sparkplan::sysctl
