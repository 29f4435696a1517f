#include "engine/report/plan/plan_for_others.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/core/ascii.h"
#include "engine/core/keyed_digest.h"
#include "engine/core/text.h"
#include "engine/report/plan/hidden_texts.h"

namespace sparkplan {
namespace {

/// In upper case, without '_' and '-': "API_KEY", "api-key" and "ApiKey" are one word.
std::string squeezed(std::string_view text) {
  std::string upper;
  for (const char c : text) {
    if (c != '_' && c != '-') upper += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return upper;
}

/// True if `text` contains the word in upper or lower case, with no letter beside it: not in "authorized_keys".
bool has_word(std::string_view text, std::string_view word) {
  const auto same = [](char a, char b) { return a == b || (a >= 'a' && a <= 'z' && a - 'a' + 'A' == b); };
  const auto is_letter_at = [&](std::size_t at) {
    return at < text.size() && is_alphanumeric(text[at]) && !is_digit(text[at]);
  };
  for (auto from = text.begin();;) {
    const auto found = std::search(from, text.end(), word.begin(), word.end(), same);
    if (found == text.end()) return false;
    const auto at = static_cast<std::size_t>(found - text.begin());
    if ((at == 0 || !is_letter_at(at - 1)) && !is_letter_at(at + word.size())) return true;
    from = found + 1;
  }
}

bool has_private_key(std::string_view text) { return text.find("PRIVATE KEY-----") != std::string_view::npos; }

/// Of each node. A node has a few secrets: tens of thousands fit.
constexpr std::size_t kMostHiddenBytes = std::size_t{8} << 20;
/// A text with more of them is hidden as a whole: a list of its lines takes many times its memory.
constexpr std::size_t kMostSecretLines = 20'000;

/// The first ones, with one above the limit at most.
std::vector<std::string_view> secret_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  for_each_line(text, [&](std::string_view line) {
    if (lines.size() <= kMostSecretLines && names_a_secret(line)) lines.push_back(line);
  });
  return lines;
}

/// The fields that name a record of a list section: a file, a mount, a unit. Names are shown.
constexpr std::array<std::string_view, 3> kRecordNames{"path", "target", "name"};

/// True for the file /etc/token and the mount /mnt/secret.
bool is_secret_record(const Value& record) {
  return std::ranges::any_of(kRecordNames, [&](std::string_view key) {
    const Value* name = record.find(key);
    return name != nullptr && name->string() != nullptr && names_a_secret(*name->string());
  });
}

bool has_section(const NodeSpec& node, const std::string& key, const Value& body) {
  const auto found = node.sections.find(key);
  return found != node.sections.end() && found->second == body;
}

/// Hides secrets in values, and collects them.
class Redactor {
 public:
  explicit Redactor(HiddenTexts& hidden) : hidden_(hidden) {}

  void hide_values(NodePlan& plan) {
    for (Change& change : plan.changes) {
      for (FieldChange& field : change.fields) {
        hide_both(field.before, field.after, names_a_secret(change.id.name) || names_a_secret(field.path));
      }
    }
    // The text of a removal shows what its steps restore.
    for (Step& step : plan.steps) {
      auto* before = std::get_if<Present>(&step.before);
      auto* after = std::get_if<Present>(&step.after);
      Value nothing;
      hide_both(before == nullptr ? nothing : before->value, after == nullptr ? nothing : after->value,
                names_a_secret(step.artifact.name));
    }
    for (auto& [id, value] : plan.after_steps) hide(value, nullptr, names_a_secret(id.name));
    for (auto& [id, value] : plan.resulting) hide(value, nullptr, names_a_secret(id.name));
  }

  /// Only collects. Most nodes have the sections of the node before them.
  void collect(const Cluster& cluster) {
    const NodeSpec* earlier = nullptr;
    for (const NodeSpec& node : cluster.nodes) {
      for (const auto& [key, body] : node.sections) {
        if (earlier == nullptr || !has_section(*earlier, key, body)) collect(body, false);
      }
      earlier = &node;
    }
  }

 private:
  void collect(const Value& value, bool all) {
    if (const Value::Map* entries = value.entries()) {
      for (const MapEntry& entry : *entries) collect(entry, all);
    } else if (const Value::List* items = value.list_items()) {
      for (const Value& item : *items) collect_record(item, all);
    } else if (!value.is_null() && !value.is_unknown()) {
      Value single = value;
      hide_single(single, nullptr, all);
    }
  }

  void collect(const MapEntry& entry, bool all) {
    // A reference says where a secret comes from; its value is in no plan.
    const bool is_reference = entry.key == "secret" && entry.value.is_map();
    if (!is_reference) collect(entry.value, all || names_a_secret(entry.key));
  }

  void collect_record(const Value& record, bool all) {
    const Value::Map* entries = record.entries();
    if (entries == nullptr) return collect(record, all);
    const bool is_secret = is_secret_record(record);
    for (const MapEntry& entry : *entries) {
      if (std::ranges::find(kRecordNames, entry.key) == kRecordNames.end()) collect(entry, all || is_secret);
    }
  }

  void hide_both(Value& before, Value& after, bool all) {
    hide(after, &before, all);
    hide(before, nullptr, all);
  }

  /// With `all`, hides every text and number. Equal values stay equal: the texts of a plan compare them. `earlier` is
  /// the value that this one replaces; null without such a value.
  void hide(Value& value, const Value* earlier, bool all) {
    if (earlier != nullptr && (earlier->is_null() || earlier->is_unknown())) earlier = nullptr;
    if (Value::Map* entries = value.entries()) {
      for (MapEntry& entry : *entries) {
        const Value* then = earlier == nullptr ? nullptr : earlier->find(entry.key);
        hide(entry.value, then, all || names_a_secret(entry.key));
      }
    } else if (Value::List* items = value.list_items()) {
      const Value::List* then = earlier == nullptr ? nullptr : earlier->list_items();
      for (std::size_t at = 0; at < items->size(); ++at) {
        hide((*items)[at], then != nullptr && at < then->size() ? &(*then)[at] : nullptr, all);
      }
    } else if (!value.is_null() && !value.is_unknown()) {
      hide_single(value, earlier, all);
    }
  }

  /// A text, a number or a truth value.
  void hide_single(Value& value, const Value* earlier, bool all) {
    const std::string* text = value.string();
    if (text != nullptr && is_secret_token(*text)) return;
    if (text != nullptr && !all) {
      const std::string* then = earlier == nullptr ? nullptr : earlier->string();
      value = Value(without_secret_lines(*text, then));
    } else if (all) {
      if (text != nullptr) {
        hidden_.add(*text);
        hidden_.add_lines(*text);
      } else if (value.boolean() == nullptr) {
        hidden_.add(display(value));
      }
      const bool changed = earlier != nullptr && !(*earlier == value);
      value = Value(changed ? kHiddenChanged : kHidden);
    }
  }

  /// The secret lines; with `all`, each line.
  void collect_lines(const std::string& text, bool all) {
    for_each_line(text, [&](std::string_view line) {
      if (hidden_.has_no_room()) return;
      if (all) {
        hidden_.add(line);
      } else if (names_a_secret(line)) {
        hidden_.add_line(line);
      }
    });
  }

  /// For each line of `earlier` that is gone, one new line is marked as changed. The other new lines were added.
  std::string without_secret_lines(const std::string& text, const std::string* earlier) {
    const auto now = secret_lines(text);
    const auto then = earlier == nullptr ? std::vector<std::string_view>() : secret_lines(*earlier);
    const bool is_key = has_private_key(text);
    if (is_key || now.size() > kMostSecretLines) {
      collect_lines(text, is_key);
      return std::string(earlier != nullptr && *earlier != text ? kHiddenChanged : kHidden);
    }
    const std::set<std::string_view> old(then.begin(), then.end());
    const std::set<std::string_view> kept(now.begin(), now.end());
    auto gone = std::count_if(then.begin(), then.end(), [&](std::string_view line) { return !kept.contains(line); });
    std::string shown;
    for_each_line(text, [&](std::string_view line) {
      if (!names_a_secret(line)) {
        shown.append(line).append("\n");
        return;
      }
      hidden_.add_line(line);
      const bool changed = gone > 0 && !old.contains(line);
      if (changed) --gone;
      shown.append(changed ? kHiddenChanged : kHidden).append("\n");
    });
    if (!text.ends_with('\n') && !shown.empty()) shown.pop_back();
    return shown;
  }

  HiddenTexts& hidden_;
};

/// Hides in messages the secrets of the node that they are about, and those of the file.
class Messages {
 public:
  Messages(const HiddenTexts& of_node, const HiddenTexts& of_file) : of_node_(of_node), of_file_(of_file) {}

  void hide(NodeReport& node) const {
    if (node.error) hide(*node.error);
    for (Change& change : node.plan.changes) hide(change.note);
    for (BlockedResource& blocked : node.plan.blocked) hide(blocked.error);
    for (SkippedResource& skipped : node.plan.not_applicable) hide(skipped.reason);
  }

  void hide(Diagnostic& diagnostic) const {
    hide(diagnostic.message);
    hide(diagnostic.hint);
    for (DiagnosticNote& note : diagnostic.notes) hide(note.message);
  }

 private:
  void hide(std::string& text) const { hide_in(text, of_node_, of_file_); }
  void hide(Error& error) const {
    hide(error.message);
    hide(error.hint);
    for (std::string& level : error.context) hide(level);
  }

  const HiddenTexts& of_node_;
  const HiddenTexts& of_file_;
};

/// A finding of the controller about a node's claims on others. It quotes names and ids, and no values, so the texts of
/// the node that it warns of hide nothing in it.
bool is_about_claims(const Diagnostic& diagnostic) {
  constexpr std::array<std::string_view, 4> kCodes{"roster.", "nodes.", "plan.nothing-made",
                                                   "ssh_trust.export-refused"};
  return std::ranges::any_of(kCodes, [&](std::string_view code) { return diagnostic.code.starts_with(code); });
}

}  // namespace

bool names_a_secret(std::string_view name) {
  constexpr std::array<std::string_view, 10> kParts{"TOKEN",        "SECRET",       "PASSW",     "PASSPHRASE",
                                                    "CREDENTIAL",   "APIKEY",       "ACCESSKEY", "PRIVATEKEY",
                                                    "PRESHAREDKEY", "AUTHORIZATION"};
  constexpr std::array<std::string_view, 4> kWords{"AUTH", "OAUTH", "PASS", "PSK"};
  const std::string upper = squeezed(name);
  return std::ranges::any_of(kParts, [&](std::string_view part) { return upper.find(part) != std::string::npos; }) ||
         std::any_of(kWords.begin(), kWords.end(), [&](std::string_view word) { return has_word(name, word); });
}

Report for_others(Report report, const Cluster& cluster) {
  std::set<std::string, std::less<>> names;
  for (const NodeSpec& node : cluster.nodes) names.insert(node.name.str());
  for (const NodeReport& node : report.nodes) names.insert(node.name);
  const HiddenTexts none(names);
  HiddenTexts of_file(names);
  Redactor(of_file).collect(cluster);
  of_file.link();
  std::multimap<std::string_view, Diagnostic*> findings;  // By the node whose texts they may quote.
  for (Diagnostic& one : report.diagnostics)
    findings.emplace(is_about_claims(one) ? std::string_view() : std::string_view(one.node), &one);
  for (NodeReport& node : report.nodes) {
    // Freed before the next node: together, the texts of all nodes could take gigabytes.
    HiddenTexts own(names, kMostHiddenBytes);
    Redactor(own).hide_values(node.plan);
    own.link();
    const Messages messages(own, of_file);
    messages.hide(node);
    const auto [begin, end] = findings.equal_range(node.name);
    std::for_each(begin, end, [&](const auto& one) { messages.hide(*one.second); });
    findings.erase(begin, end);
  }
  for (const auto& [node, finding] : findings) Messages(none, of_file).hide(*finding);
  return report;
}

}  // namespace sparkplan
