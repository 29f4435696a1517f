#include "resources/mount/mount_unit.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "engine/core/ascii.h"
#include "engine/core/number_format.h"
#include "engine/core/tree.h"
#include "resources/mount/mount_state.h"

namespace sparkplan::mount {
namespace {

using Options = std::vector<std::string>;

constexpr std::string_view kSize = "size=";

/// The bounds of a unit that a file can have, without the options that storage_mounts() adds: see schema.json. A
/// character has up to four bytes, and "%" is doubled.
constexpr std::size_t kMostOptions = 100;
constexpr std::size_t kMostBytes = std::size_t{256} << 10;

bool is_size(std::string_view option) { return option.starts_with(kSize); }

/// Options that storage_mounts() adds, so that a section need not name them.
constexpr std::array<std::string_view, 6> kAdded{"bind",   "noload", "norecovery", "rescue=nologreplay",
                                                 "nofail", "_netdev"};

bool is_added(std::string_view option) { return std::ranges::find(kAdded, option) != kAdded.end(); }

/// "8GiB" for 8589934592.
std::string size_text(std::int64_t bytes) {
  static constexpr std::array<std::pair<std::string_view, unsigned>, 3> kUnits{{{"GiB", 30}, {"MiB", 20}, {"KiB", 10}}};
  for (const auto& [unit, power] : kUnits) {
    const std::int64_t one = std::int64_t{1} << power;
    if (bytes >= one && bytes % one == 0) return std::to_string(bytes / one) + std::string(unit);
  }
  return std::to_string(bytes);
}

/// "UUID=..." for such a link, if its name has only letters, digits and hyphens; else the path.
std::string device_name(const std::string& path) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kTags{
      {{"/dev/disk/by-uuid/", "UUID="},
       {"/dev/disk/by-label/", "LABEL="},
       {"/dev/disk/by-partuuid/", "PARTUUID="},
       {"/dev/disk/by-partlabel/", "PARTLABEL="}}};
  for (const auto& [directory, tag] : kTags) {
    if (!path.starts_with(directory)) continue;
    const std::string name = path.substr(directory.size());
    const bool plain = std::ranges::all_of(name, [](char c) { return c == '-' || is_alphanumeric(c); });
    if (plain && !name.empty()) return std::string(tag) + name;
  }
  return path;
}

std::optional<Value> nvme_source(const MountUnit& unit) {
  const std::string name = unit.what.substr(kNvmeLinkPrefix.size());
  const std::size_t dash = name.rfind('-');
  const auto number = dash == std::string::npos ? std::nullopt : parse_number(std::string_view(name).substr(dash + 1));
  if (!number) return std::nullopt;
  const NvmeTcpVolume defaults;
  Value source = Value::map({{"address", unit.server->address}});
  if (unit.server->port != defaults.port) source.set("port", unit.server->port);
  source.set("subsystem", name.substr(0, dash));
  if (*number != defaults.namespace_id) source.set("namespace", *number);
  return Value::map({{"nvme_tcp", std::move(source)}});
}

/// "[fe80::1]:/export" and "10.0.0.9:/export".
std::optional<Value> nfs_source(const std::string& what) {
  const std::size_t end = what.find(":/");
  if (end == std::string::npos) return std::nullopt;
  std::string server = what.substr(0, end);
  if (server.starts_with('[') && server.ends_with(']')) server = server.substr(1, server.size() - 2);
  Value source = Value::map({{"server", std::move(server)}, {"path", what.substr(end + 1)}});
  return Value::map({{"nfs", std::move(source)}});
}

std::optional<Value> tmpfs_source(const Options& options) {
  const auto size = std::ranges::find_if(options, is_size);
  const auto bytes = size == options.end() ? std::nullopt : parse_number(std::string_view(*size).substr(kSize.size()));
  if (!bytes) return std::nullopt;
  return Value::map({{"tmpfs", Value::map({{"size", size_text(*bytes)}})}});
}

std::optional<Value> source_of(const MountUnit& unit) {
  if (unit.server && unit.what.starts_with(kNvmeLinkPrefix)) return nvme_source(unit);
  if (unit.type == "nfs4") return nfs_source(unit.what);
  if (unit.type == "none") return Value::map({{"bind", unit.what}});
  if (unit.type == "tmpfs") return tmpfs_source(unit.options);
  return Value::map({{"device", device_name(unit.what)}});
}

Value entry_with(const std::string& target, const MountUnit& unit, const Value& source, const Options& options) {
  Value entry = Value::map({{"target", target}, {"source", source}});
  const bool of_a_volume = source.find("nvme_tcp") != nullptr || source.find("device") != nullptr;
  if (of_a_volume) entry.set("type", unit.type);
  if (!options.empty()) entry.set("options", list_of_texts(options));
  return entry;
}

bool makes(const Value& entry, const std::string& unit) {
  const auto mounts = storage_mounts(Value::list({entry}));
  return mounts.size() == 1 && render_unit(mounts.front()) == unit;
}

/// The entry without the added options, unless that renders another unit, for example with another order of options.
std::optional<Value> entry_of(const std::string& target, const std::string& text) {
  if (text.size() > kMostBytes) return std::nullopt;  // No section renders it. A node may send 4 MB.
  const MountUnit unit = parse_unit(text);
  if (unit.options.size() > kMostOptions + kAdded.size() + 1) return std::nullopt;  // Or the size of a tmpfs.
  const auto source = source_of(unit);
  if (!source) return std::nullopt;
  Options all;
  Options own;
  for (const std::string& option : unit.options) {
    if (unit.type == "tmpfs" && is_size(option)) continue;
    all.push_back(option);
    if (!is_added(option)) own.push_back(option);
  }
  for (const Options& options : {own, all}) {
    Value entry = entry_with(target, unit, *source, options);
    if (makes(entry, text)) return entry;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Value> section_of(const ValuesByName& applied) {
  Value section = Value::list();
  for (const auto& [target, value] : applied) {
    auto entry = entry_of(target, value.text_or(field::kContent, ""));
    if (!entry) return std::nullopt;
    section.push_back(*std::move(entry));
  }
  return section;
}

}  // namespace sparkplan::mount
