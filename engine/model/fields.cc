#include "engine/model/fields.h"

#include <cmath>

#include "engine/core/digest.h"
#include "engine/core/json.h"
#include "engine/core/text.h"

namespace sparkplan {

void FieldVisitor::choice(std::string_view key, std::size_t& index, std::span<const std::string_view> names,
                          const FieldRule& rule) {
  if (!enter(key, rule, false)) return;
  one_of(index, names);
  leave();
}

void FieldVisitor::base64(std::string_view key, std::string& bytes, const FieldRule& rule) {
  std::string text = mode_ == Mode::kWrite ? base64_encode(bytes) : std::string();
  (*this)(key, text, rule);
  if (!reading()) return;
  auto decoded = base64_decode(text);
  check(key, decoded.has_value(), "expected base64");
  if (decoded) bytes = std::move(*decoded);
}

void FieldVisitor::check(std::string_view /*key*/, bool /*holds*/, std::string_view /*requirement*/) {}

const std::string& FieldVisitor::entry_key(std::size_t /*index*/) const {
  static const std::string none;
  return none;
}

bool FieldWriter::enter(std::string_view key, const FieldRule& rule, bool none) {
  if (none || rule.left_out) return false;
  auto& entries = *open_.back()->entries();
  entries.push_back({std::string(key), Value()});
  open_.push_back(&entries.back().value);
  return true;
}

bool FieldWriter::begin_struct(const std::type_info& /*type*/) {
  *open_.back() = Value::map();
  return true;
}

std::size_t FieldWriter::begin_list(std::size_t size, const FieldRule& rule) {
  if (rule.is_shortened) size = std::min(size, rule.most_items);
  *open_.back() = Value(Value::List());
  open_.back()->list_items()->reserve(size);
  return size;
}

std::size_t FieldWriter::begin_map(std::size_t size, const FieldRule& rule) {
  if (rule.is_shortened) size = std::min(size, rule.most_items);
  *open_.back() = Value(Value::Map());
  open_.back()->entries()->reserve(size);
  return size;
}

void FieldWriter::enter_item(std::size_t /*index*/) {
  auto& items = *open_.back()->list_items();
  items.emplace_back();
  open_.push_back(&items.back());
}

void FieldWriter::enter_entry(std::size_t /*index*/, const std::string& key) { enter(key, kOptional, false); }

void FieldWriter::text(std::string& text, const FieldRule& /*rule*/) { *open_.back() = Value(text); }
void FieldWriter::boolean(bool& boolean) { *open_.back() = Value(boolean); }
void FieldWriter::integer(std::int64_t& number, const FieldRule& /*rule*/) { *open_.back() = Value(number); }
void FieldWriter::real(double& number) { *open_.back() = Value(number); }
void FieldWriter::any(Value& value) { *open_.back() = value; }
void FieldWriter::one_of(std::size_t& index, std::span<const std::string_view> names) {
  *open_.back() = Value(names[std::min(index, names.size() - 1)]);
}

Result<void> FieldReader::result() const {
  if (error_) return failure(*error_);
  return {};
}

Result<void> FieldReader::refuse_unknown(std::string_view what) const {
  if (root_.entries() == nullptr) return {};
  for (const MapEntry& entry : *root_.entries()) {
    if (std::find(known_.begin(), known_.end(), entry.key) != known_.end()) continue;
    return failure(ErrorCode::kInvalidInput, std::string(what) + " has no field " + shown_text(entry.key));
  }
  return {};
}

void FieldReader::check(std::string_view key, bool holds, std::string_view requirement) {
  if (failed_ || holds) return;
  path_.push_back({at_, key, 0});
  invalid(std::string(requirement));
  path_.pop_back();
}

void FieldReader::fail(const Error& error) {
  if (failed_) return;
  failed_ = true;
  Error placed = error;
  for (auto level = path_.rbegin(); level != path_.rend(); ++level) {
    placed =
        std::move(placed).within(level->key.data() == nullptr ? std::to_string(level->index) : std::string(level->key));
  }
  error_ = std::move(placed);
}

void FieldReader::invalid(std::string why) { fail(make_error(ErrorCode::kInvalidInput, std::move(why))); }

void FieldReader::wrong_kind(std::string_view expected) {
  invalid("expected " + std::string(expected) + ", found " + std::string(at_->kind_name()));
}

void FieldReader::enter(const Value& inner, std::string_view key, std::size_t index) {
  path_.push_back({at_, key, index});
  at_ = &inner;
}

bool FieldReader::enter(std::string_view key, const FieldRule& rule, bool /*none*/) {
  if (failed_ || !use_memory(kJsonValueWeight)) return false;
  if (path_.empty()) known_.push_back(key);
  const Value* found = at_->find(key);
  if (found != nullptr) {
    enter(*found, key, 0);
  } else if (rule.required) {
    check(key, false, "missing");
  }
  return found != nullptr;
}

void FieldReader::leave() {
  at_ = path_.back().outer;
  path_.pop_back();
}

bool FieldReader::begin_struct(const std::type_info& /*type*/) {
  if (!at_->is_map()) wrong_kind("map");
  return !failed_;
}

bool FieldReader::use_memory(std::size_t bytes) {
  if (bytes > left_ && !failed_) invalid("the fields up to here take more memory than the limit for one node");
  left_ -= std::min(bytes, left_);
  return !failed_;
}

bool FieldReader::is_too_many(std::size_t size, const FieldRule& rule) {
  if (size > rule.most_items) invalid("more than " + std::to_string(rule.most_items));
  return failed_;
}

std::size_t FieldReader::begin_list(std::size_t /*size*/, const FieldRule& rule) {
  const auto* items = at_->list_items();
  if (items == nullptr) wrong_kind("list");
  return items == nullptr || is_too_many(items->size(), rule) ? 0 : items->size();
}

std::size_t FieldReader::begin_map(std::size_t /*size*/, const FieldRule& rule) {
  const auto* entries = at_->entries();
  if (entries == nullptr) wrong_kind("map");
  if (entries == nullptr || is_too_many(entries->size(), rule)) return 0;
  const bool too_long = std::any_of(entries->begin(), entries->end(),
                                    [](const MapEntry& one) { return one.key.size() > FieldRule::kLongestText; });
  if (too_long) invalid("a key is longer than " + std::to_string(FieldRule::kLongestText) + " bytes");
  return failed_ ? 0 : entries->size();
}

void FieldReader::enter_item(std::size_t index) {
  use_memory(kJsonValueWeight);
  enter((*at_->list_items())[index], {}, index);
}
void FieldReader::enter_entry(std::size_t index, const std::string& key) {
  use_memory(kJsonValueWeight + key.size());
  enter((*at_->entries())[index].value, key, index);
}
const std::string& FieldReader::entry_key(std::size_t index) const { return (*at_->entries())[index].key; }

bool FieldReader::null(bool /*none*/) { return at_->is_null(); }

void FieldReader::text(std::string& text, const FieldRule& rule) {
  const std::string* found = at_->string();
  if (found == nullptr) return wrong_kind("text");
  if (found->size() > rule.longest && !rule.is_cut) {
    return invalid("longer than " + std::to_string(rule.longest) + " bytes");
  }
  if (!use_memory(std::min(found->size(), rule.longest))) return;
  if (rule.is_printable && printable(*found) != *found) return invalid("it has characters that are not printable");
  text = rule.is_cut ? cut_text(*found, rule.longest) : *found;
}

void FieldReader::boolean(bool& boolean) {
  if (at_->boolean() == nullptr) return wrong_kind("true/false");
  boolean = *at_->boolean();
}

void FieldReader::integer(std::int64_t& number, const FieldRule& rule) {
  const std::int64_t* found = at_->integer();
  if (found == nullptr) return wrong_kind("integer");
  if (*found < rule.least || *found > rule.most) return invalid("out of range: " + std::to_string(*found));
  number = *found;
}

void FieldReader::real(double& number) {
  if (at_->real() != nullptr) {
    number = *at_->real();
  } else if (at_->integer() != nullptr) {
    number = static_cast<double>(*at_->integer());
  } else {
    return wrong_kind("number");
  }
  // No field is a NaN, which has no place in an order, or an infinity.
  if (!std::isfinite(number)) invalid("expected a finite number");
}

void FieldReader::any(Value& value) { value = *at_; }

void FieldReader::one_of(std::size_t& index, std::span<const std::string_view> names) {
  const std::string* found = at_->string();
  if (found == nullptr) return wrong_kind("text");
  const auto name = std::find(names.begin(), names.end(), *found);
  if (name == names.end()) {
    const std::string_view key = path_.empty() ? std::string_view("name") : path_.back().key;
    return invalid("no such " + std::string(key) + ": \"" + shown_text(*found) + "\"");
  }
  index = static_cast<std::size_t>(name - names.begin());
}

}  // namespace sparkplan
