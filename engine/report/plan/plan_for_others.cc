#include "engine/report/plan/plan_for_others.h"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/core/ascii.h"
#include "engine/core/keyed_digest.h"
#include "engine/core/text.h"

namespace sparkplan {
namespace {

constexpr std::string_view kHidden = "(hidden)";
constexpr std::string_view kHiddenChanged = "(hidden, changed)";
/// In messages, no shorter text is hidden: "true", "root" and "0644" would be hidden everywhere.
constexpr std::size_t kShortestHidden = 5;

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

std::vector<std::string_view> secret_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  for_each_line(text, [&](std::string_view line) {
    if (names_a_secret(line)) lines.push_back(line);
  });
  return lines;
}

/// The value of "password = 'x'", of "token: x  # new" and of "\"secret\": \"x\",".
std::string_view value_in(std::string_view line) {
  const std::size_t sign = line.find_first_of("=:");
  if (sign == std::string_view::npos) return {};
  std::string_view value = line.substr(sign + 1);
  value = trim(value.substr(0, value.find(" #")));
  while (value.ends_with(',') || value.ends_with(';')) value.remove_suffix(1);
  const bool quoted = value.size() > 1 && value.front() == value.back() && (value[0] == '"' || value[0] == '\'');
  return quoted ? value.substr(1, value.size() - 2) : value;
}

/// The texts that were hidden in values. Messages that quote them hide them, too.
class HiddenTexts {
 public:
  void add(std::string_view text) {
    text = trim(text);
    if (text.size() >= kShortestHidden && kHiddenChanged.find(text) == std::string_view::npos)
      texts_.try_emplace(std::string(text));
  }
  void add_line(std::string_view line) {
    add(line);
    add(value_in(line));
  }
  void add_lines(std::string_view text) {
    for_each_line(text, [&](std::string_view line) { add(line); });
  }

  /// To be called after the last add(), before hide_in().
  void link() {
    std::vector<Texts::value_type*> longer;
    for (auto& one : texts_) {
      while (!longer.empty() && !one.first.starts_with(longer.back()->first)) longer.pop_back();
      if (!longer.empty()) one.second = {&longer.back()->first, &longer.back()->second};
      longer.push_back(&one);
    }
  }

  /// Reads each place of the message once: a node can report thousands of secrets and thousands of messages.
  void hide_in(std::string& message) const {
    if (texts_.empty()) return;
    std::string shown;
    std::size_t end = 0;  // The end of the hidden part so far: texts can overlap.
    for (std::size_t at = 0; at < message.size(); ++at) {
      const std::size_t length = length_at(std::string_view(message).substr(at));
      if (length > 0 && at >= end) shown += kHidden;
      end = std::max(end, at + length);
      if (at >= end) shown += message[at];
    }
    message = std::move(shown);
  }

 private:
  /// The length of the longest hidden text that `rest` begins with; 0 without such a text.
  std::size_t length_at(std::string_view rest) const {
    const auto after = texts_.upper_bound(rest);
    if (after == texts_.begin()) return 0;
    const auto& [before, shorter] = *std::prev(after);
    const auto differ = std::mismatch(before.begin(), before.end(), rest.begin(), rest.end());
    const auto equal = static_cast<std::size_t>(differ.first - before.begin());
    if (equal == before.size()) return equal;
    // Each text that `rest` begins with comes before it, so that the last one before `rest` begins with it, too.
    const Shorter* one = &shorter;
    while (one->text != nullptr && one->text->size() > equal) one = one->next;
    return one->text == nullptr ? 0 : one->text->size();
  }

  /// `text` is the longest other text that this text begins with, `next` the record of `text`. Without one both are
  /// null.
  struct Shorter {
    const std::string* text = nullptr;
    const Shorter* next = nullptr;
  };
  using Texts = std::map<std::string, Shorter, std::less<>>;
  Texts texts_;
};

/// Hides secrets in the values of a report, then the quotes of these secrets in its messages.
class Redactor {
 public:
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

  /// Between the values and the messages.
  void end_values() { hidden_.link(); }

  void hide_in_messages(NodeReport& node) const {
    if (node.error) hide_in(*node.error);
    for (Change& change : node.plan.changes) hidden_.hide_in(change.note);
    for (BlockedResource& blocked : node.plan.blocked) hide_in(blocked.error);
    for (SkippedResource& skipped : node.plan.not_applicable) hidden_.hide_in(skipped.reason);
  }

  void hide_in(Diagnostic& diagnostic) const {
    hidden_.hide_in(diagnostic.message);
    hidden_.hide_in(diagnostic.hint);
    for (DiagnosticNote& note : diagnostic.notes) hidden_.hide_in(note.message);
  }

 private:
  void hide_in(Error& error) const {
    hidden_.hide_in(error.message);
    hidden_.hide_in(error.hint);
    for (std::string& level : error.context) hidden_.hide_in(level);
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

  /// For each line of `earlier` that is gone, one new line is marked as changed. The other new lines were added.
  std::string without_secret_lines(const std::string& text, const std::string* earlier) {
    if (has_private_key(text)) {
      hidden_.add_lines(text);
      return std::string(earlier != nullptr && *earlier != text ? kHiddenChanged : kHidden);
    }
    const auto now = secret_lines(text);
    const auto then = earlier == nullptr ? std::vector<std::string_view>() : secret_lines(*earlier);
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

  HiddenTexts hidden_;
};

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

Report for_others(Report report) {
  Redactor redactor;
  for (NodeReport& node : report.nodes) redactor.hide_values(node.plan);
  redactor.end_values();
  for (NodeReport& node : report.nodes) redactor.hide_in_messages(node);
  for (Diagnostic& diagnostic : report.diagnostics) redactor.hide_in(diagnostic);
  return report;
}

}  // namespace sparkplan
