#include "resources/mount/mount_unit.h"

#include <algorithm>
#include <charconv>

#include "engine/core/text.h"
#include "engine/resource/artifact.h"
#include "engine/resource/systemd_units.h"

namespace sparkplan::mount {
namespace {

/// Seconds until systemd gives a mount up if its server or disk does not respond.
constexpr const char* kPatience = "30";

/// Source: systemd.unit(5), on sections whose name begins with "X-".
constexpr std::string_view kOwnSection = "X-Sparkplan";

bool contains(const std::vector<std::string>& list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

/// Quotes the text as one word. Source: systemd.syntax(7), "Quoting".
std::string as_one_word(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

/// The target that the [Install] section names; its .wants directory has the link.
std::string wanting_target(const std::vector<std::string>& options) {
  return contains(options, "_netdev") ? "remote-fs.target" : "local-fs.target";
}

}  // namespace

std::string unit_name(std::string_view target) { return escaped_unit_path(target) + ".mount"; }

std::string render_unit(const StorageMount& mount) {
  std::string text = ownership_header() + "[Unit]\nDescription=" + without_specifiers(mount.target) + "\n";
  if (mount.nvme) {
    const std::string connection = nvme_unit_name(mount.nvme->subsystem);
    text += "Requires=" + connection + "\nAfter=" + connection + "\n";
  } else if (mount.kind == StorageKind::kBind) {
    text += "RequiresMountsFor=" + as_one_word(without_specifiers(mount.what)) + "\n";
  }
  text += "\n[Mount]\nWhat=" + without_specifiers(mount.what) + "\nWhere=" + without_specifiers(mount.target) +
          "\nType=" + mount.type + "\nOptions=" + without_specifiers(join(mount.options, ",")) +
          "\nTimeoutSec=" + kPatience + "\n";
  if (mount.nvme) {
    text += "\n[" + std::string(kOwnSection) + "]\nServer=" + mount.nvme->address +
            "\nPort=" + std::to_string(mount.nvme->port) + "\n";
  } else {
    text += "\n[Install]\nWantedBy=" + wanting_target(mount.options) + "\n";
  }
  return text;
}

bool MountUnit::has_option(std::string_view option) const { return contains(options, option); }

bool MountUnit::read_only() const { return is_read_only(options); }

MountUnit parse_unit(std::string_view text) {
  MountUnit unit;
  const auto setting = [&](std::string_view key) {
    return with_specifiers(unit_setting(text, "Mount", key).value_or(""));
  };
  unit.what = setting("What");
  unit.type = setting("Type");
  const std::string options = setting("Options");
  for (const std::string_view option : split(options, ',')) {
    if (!option.empty()) unit.options.emplace_back(option);
  }
  unit.enabled = unit_setting(text, "Install", "WantedBy").has_value();
  const auto address = unit_setting(text, kOwnSection, "Server");
  const auto port = unit_setting(text, kOwnSection, "Port");
  int number = 0;
  if (address && port && std::from_chars(port->data(), port->data() + port->size(), number).ec == std::errc()) {
    unit.server = VolumeServer{*address, number};
  }
  return unit;
}

}  // namespace sparkplan::mount
