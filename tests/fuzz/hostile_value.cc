#include "tests/fuzz/hostile_value.h"

#include <array>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>
#include <vector>

namespace sparkplan::fuzz {
namespace {

constexpr std::size_t kMostChanges = 8;
constexpr std::size_t kLongText = 4096;
/// The size at which a tree stops growing.
constexpr std::size_t kMostNodes = 20'000;

using namespace std::string_view_literals;

constexpr std::array kTexts{
    ""sv,
    " "sv,
    "."sv,
    ".."sv,
    "/"sv,
    "*"sv,
    "-"sv,
    "-1"sv,
    "0"sv,
    "1"sv,
    "9223372036854775807"sv,
    "99999999999999999999"sv,
    "1e400"sv,
    "nan"sv,
    "true"sv,
    "null"sv,
    "not_applicable"sv,
    "\x1b[2J\x1b]0;x\a"sv,
    "\xe2\x80\xae"sv,
    "\xff\xfe"sv,
    "\0"sv,
    "a\0b"sv,
    "\n"sv,
    "\r"sv,
    "a\nb"sv,
    "\n# BEGIN sparkplan\n"sv,
    "# END sparkplan"sv,
    "# Managed by sparkplan"sv,
    "../../etc/shadow"sv,
    "/etc/shadow"sv,
    "/../x"sv,
    "/etc/out/x"sv,
    "file:/etc/out/x"sv,
    "file:/../outside/x"sv,
    "a/b"sv,
    "$(reboot)"sv,
    "`reboot`"sv,
    "'; reboot #"sv,
    "\""sv,
    "\\"sv,
    "%s%n"sv,
    "{}"sv,
    "[]"sv,
    "&a *a"sv,
    ": "sv,
    "- x"sv,
    "--help"sv,
    "file:/etc/passwd"sv,
    "block:/etc/hosts"sv,
    "sysctl/vm.swappiness"sv,
    "netplan/enp1s0f1np1"sv,
    "ssh_trust/nvidia"sv,
    "systemd_unit/x.service"sv,
    "0.0.0.0/0"sv,
    "192.168.100.11/24"sv,
    "192.168.100.11"sv,
    "10.0.0.1/33"sv,
    "10.0.0.1/-1"sv,
    "::"sv,
    "fe80::1%eth0"sv,
    "::ffff:1.2.3.4/129"sv,
    "4c:bb:47:00:01:01"sv,
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB"sv,
    "SHA256:AAAA"sv,
    "root"sv,
    "nvidia"sv,
    "spark-01"sv,
    "spark-02"sv,
    "0644"sv,
    "07777777777777777777777"sv,
    "64MiB"sv,
    "unlimited"sv,
    "2.30.7"sv,
    "99999999999.1.1"sv,
    "absent"sv,
    "present"sv,
    "$unknown"sv,
    "$base64"sv,
};

constexpr std::array<std::int64_t, 14> kIntegers{0,
                                                 1,
                                                 -1,
                                                 2,
                                                 32,
                                                 255,
                                                 65'535,
                                                 65'536,
                                                 std::numeric_limits<std::int32_t>::max(),
                                                 std::numeric_limits<std::int32_t>::min(),
                                                 std::int64_t{1} << 32U,
                                                 std::numeric_limits<std::int64_t>::max(),
                                                 std::numeric_limits<std::int64_t>::min(),
                                                 1'000'000'000'000};

void collect(Value& value, std::vector<Value*>& all) {
  all.push_back(&value);
  if (auto* items = value.list_items()) {
    for (Value& item : *items) collect(item, all);
  }
  if (auto* entries = value.entries()) {
    for (MapEntry& entry : *entries) collect(entry.value, all);
  }
}

Value of_another_kind(Choices& choices) {
  switch (choices.below(12)) {
    case 0:
      return Value();
    case 1:
      return Value(hostile_text(choices));
    case 2:
      return Value(kIntegers[choices.below(kIntegers.size())]);
    case 3:
      return Value::map();
    case 4:
      return Value::list();
    case 5:
      return Value(choices.below(2) == 1);
    case 6:
      return Value(1.5);
    case 7:
      return Value(std::numeric_limits<double>::quiet_NaN());
    case 8:
      return Value(-std::numeric_limits<double>::infinity());
    case 9:
      return Value(Value::Unknown{hostile_text(choices), hostile_text(choices)});
    case 10:
      return Value::list({Value(hostile_text(choices)), Value(), Value::map()});
    default:
      return Value::map({{hostile_text(choices), Value(hostile_text(choices))}});
  }
}

/// Adds, removes or renames children below `value`.
void change_children(Value& value, const std::vector<Value*>& all, Choices& choices) {
  const std::size_t what = choices.below(4);
  if (auto* items = value.list_items(); items != nullptr && !items->empty()) {
    const auto at = items->begin() + static_cast<std::ptrdiff_t>(choices.below(items->size()));
    if (what == 0) items->erase(at);
    if (what == 1) items->push_back(Value(*at));
    if (what == 2) items->push_back(of_another_kind(choices));
    if (what == 3) items->push_back(Value(*all[choices.below(all.size())]));
  } else if (auto* entries = value.entries(); entries != nullptr && !entries->empty()) {
    const auto at = entries->begin() + static_cast<std::ptrdiff_t>(choices.below(entries->size()));
    if (what == 0) entries->erase(at);
    if (what == 1) at->key = hostile_text(choices);
    if (what == 2) entries->push_back({hostile_text(choices), Value(at->value)});
    if (what == 3) at->value = Value(*all[choices.below(all.size())]);
  } else if (const auto* text = value.string()) {
    std::string changed = *text;
    spoil(changed, choices);
    value = Value(std::move(changed));
  } else {
    value = of_another_kind(choices);
  }
}

void change_once(Value& tree, Choices& choices) {
  std::vector<Value*> all;
  collect(tree, all);
  if (all.size() > kMostNodes) return;
  Value& chosen = *all[choices.below(all.size())];
  switch (choices.below(5)) {
    case 0:
      chosen = of_another_kind(choices);
      break;
    case 1: {
      Value other = *all[choices.below(all.size())];
      chosen = std::move(other);
      break;
    }
    case 2:
      if (chosen.string() != nullptr) {
        chosen = Value(hostile_text(choices));
        break;
      }
      [[fallthrough]];
    case 3:
      change_children(chosen, all, choices);
      break;
    default: {
      Value wrapped = chosen;
      chosen = choices.below(2) == 0 ? Value::list({std::move(wrapped)})
                                     : Value::map({{hostile_text(choices), std::move(wrapped)}});
    }
  }
}

void drop_repeated_keys(Value& value) {
  if (auto* items = value.list_items()) {
    for (Value& item : *items) drop_repeated_keys(item);
  }
  if (auto* entries = value.entries()) {
    std::set<std::string> seen;
    std::erase_if(*entries, [&](const MapEntry& entry) { return !seen.insert(entry.key).second; });
    for (MapEntry& entry : *entries) drop_repeated_keys(entry.value);
  }
}

}  // namespace

std::string hostile_text(Choices& choices) {
  const std::size_t which = choices.below(kTexts.size() + 3);
  if (which < kTexts.size()) return std::string(kTexts[which]);
  if (which == kTexts.size()) return std::string(kLongText, 'A');
  return std::string(choices.text());
}

void spoil(Value& tree, Choices& choices) {
  if (choices.empty()) return;
  const std::size_t changes = choices.below(kMostChanges + 1);
  for (std::size_t i = 0; i < changes && !choices.empty(); ++i) change_once(tree, choices);
  drop_repeated_keys(tree);
}

void spoil(std::string& text, Choices& choices) {
  const auto place = [&] { return choices.below(text.size() + 1); };
  switch (choices.below(6)) {
    case 0:
      text.insert(place(), hostile_text(choices));
      break;
    case 1: {
      const std::size_t from = place();
      text.erase(from, choices.byte() + 1U);
      break;
    }
    case 2:
      text.resize(place());
      break;
    case 3: {
      const std::size_t from = place();
      if (text.size() < kLongText) text += text.substr(from);
      break;
    }
    case 4: {
      const std::size_t from = place();
      const std::string with = hostile_text(choices);
      text.replace(from, with.size(), with);
      break;
    }
    default:
      text = hostile_text(choices);
  }
}

}  // namespace sparkplan::fuzz
