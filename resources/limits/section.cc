#include <string>
#include <utility>

#include "engine/core/diagnostic.h"
#include "engine/core/number_format.h"
#include "engine/core/tree.h"
#include "resources/limits/item.h"
#include "resources/limits/limits.h"

namespace sparkplan::limits {
namespace {

/// A single record: its item and value, or its error.
struct Reading {
  LimitName name;
  const Item* item = nullptr;
  bool soft = false;
  bool hard = false;
  std::string value;
  std::optional<Diagnostic> wrong;
};

Reading read_record(const Value& record) {
  Reading reading;
  reading.name = {record.text_or("domain", ""), record.text_or("item", "")};
  reading.item = find_item(reading.name.item);
  if (reading.item == nullptr) {
    reading.wrong = finding("limits.item", "\"" + reading.name.item + "\" is not a limit that sparkplan can manage",
                            reading.name.item == "chroot" ? "its value is a directory: set it in /etc/security" : "",
                            place_of(record, "item"));
    return reading;
  }
  const bool of_logins = reading.name.item == "maxlogins" || reading.name.item == "maxsyslogins";
  if (reading.name.domain.starts_with('%') && !of_logins) {
    reading.wrong = finding("limits.domain", "a domain that begins with % supports maxlogins and maxsyslogins only",
                            "write @ for the members of a group", place_of(record, "domain"));
    return reading;
  }
  const std::string type = record.text_or("type", "both");
  reading.soft = type != kHard || reading.item->has_one_value();
  reading.hard = type != kSoft || reading.item->has_one_value();
  const Value* value = record.find("value");
  Result<std::string> resolved = resolve_value(*reading.item, value == nullptr ? Value() : *value);
  if (resolved) {
    reading.value = *std::move(resolved);
  } else {
    reading.wrong = finding("limits.value", resolved.error().message, resolved.error().hint, place_of(record, "value"));
  }
  return reading;
}

/// The records so far for one domain and item.
struct Collected {
  Limit limit;
  SourceRange soft_where;
  SourceRange hard_where;
};

bool contradicts(const Collected& collected, const Reading& reading) {
  const auto other = [&](bool says, const std::optional<std::string>& before) {
    return says && before && *before != reading.value;
  };
  return other(reading.soft, collected.limit.soft) || other(reading.hard, collected.limit.hard);
}

Diagnostic contradiction(const Collected& collected, const Reading& reading, const Value& record) {
  std::string message = reading.name.domain + " " + reading.name.item + " is given two values";
  if (reading.item->has_one_value()) message += ", and it has no separate soft and hard value";
  Diagnostic diagnostic =
      finding("limits.given-twice", std::move(message), "keep one of the two", place_of(record, "item"));
  diagnostic.notes.push_back(
      {"first given here", reading.soft && collected.limit.soft ? collected.soft_where : collected.hard_where});
  return diagnostic;
}

void collect(const Reading& reading, const Value& record, Collected& collected) {
  if (reading.soft) {
    collected.limit.soft = reading.value;
    collected.soft_where = place_of(record, "value");
  }
  if (reading.hard) {
    collected.limit.hard = reading.value;
    collected.hard_where = place_of(record, "value");
  }
}

/// pam_limits reduces the soft value to the hard one, so no login would get the declared value.
std::optional<Diagnostic> soft_above_hard(const LimitName& name, const Collected& collected) {
  const Item* item = find_item(name.item);
  if (!collected.limit.soft || !collected.limit.hard || item->has_one_value()) return std::nullopt;
  if (!allows_more(proc_value(*item, *collected.limit.soft), proc_value(*item, *collected.limit.hard))) {
    return std::nullopt;
  }
  Diagnostic diagnostic = finding("limits.soft-above-hard",
                                  "the soft limit of " + name.domain + " for " + name.item + ", " +
                                      *collected.limit.soft + ", is above the hard limit, " + *collected.limit.hard,
                                  "lower it, or raise the hard limit: no login would get it", collected.soft_where);
  diagnostic.notes.push_back({"the hard limit is here", collected.hard_where});
  return diagnostic;
}

}  // namespace

std::map<LimitName, WantedLimit> wanted_limits(const Value& section) {
  std::map<LimitName, WantedLimit> wanted;
  for (const Value& record : items_of(section)) {
    const Reading reading = read_record(record);
    if (reading.wrong) continue;
    const auto [place, is_new] = wanted.try_emplace(reading.name);
    if (is_new) place->second.where = place_of(record, "value");
    if (reading.soft) place->second.limit.soft = reading.value;
    if (reading.hard) place->second.limit.hard = reading.value;
  }
  return wanted;
}

std::vector<Value> records_of(const LimitName& name, const Limit& limit) {
  std::vector<Value> records;
  const auto add = [&](std::string_view type, const std::string& value) {
    Value record = Value::map({{"domain", name.domain}, {"item", name.item}});
    if (!type.empty()) record.set("type", type);
    records.push_back(std::move(record.set("value", number_or_text(value))));
  };
  if (limit.soft && limit.soft == limit.hard) {
    add("", *limit.soft);
    return records;
  }
  if (limit.soft) add(kSoft, *limit.soft);
  if (limit.hard) add(kHard, *limit.hard);
  return records;
}

std::vector<Diagnostic> validate_section(const Value& section) {
  std::vector<Diagnostic> findings;
  std::map<LimitName, Collected> all;
  for (const Value& record : items_of(section)) {
    const Reading reading = read_record(record);
    if (reading.wrong) {
      findings.push_back(*reading.wrong);
      continue;
    }
    Collected& collected = all[reading.name];
    if (contradicts(collected, reading)) {
      findings.push_back(contradiction(collected, reading, record));
    } else {
      collect(reading, record, collected);
    }
  }
  for (const auto& [name, collected] : all) {
    if (auto wrong = soft_above_hard(name, collected)) findings.push_back(*std::move(wrong));
  }
  return findings;
}

}  // namespace sparkplan::limits
