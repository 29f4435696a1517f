#include <yaml.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "resources/netplan/netplan_file.h"

namespace sparkplan::netplan {
namespace {

/// A file with the routes of 64 interfaces has a fifth of it.
constexpr std::size_t kMostValues = 32'768;
constexpr std::size_t kMostDepth = 64;
/// libyaml compares each with all others, in the one call that reads the first event.
constexpr std::size_t kMostTagDirectives = 8;

tl::unexpected<Error> broken(std::size_t line, std::string message) {
  return failure(Error{ErrorCode::kInvalidInput, std::move(message), {"line " + std::to_string(line + 1)}, {}, {}});
}

tl::unexpected<Error> beyond_limits(std::string message) {
  return failure(ErrorCode::kUnsupported, std::move(message));
}

tl::unexpected<Error> too_many_values() {
  return beyond_limits("it has more than " + std::to_string(kMostValues) + " values, with its aliases replaced");
}

/// A part of the file, without the parser's memory.
struct Event {
  enum class Kind : std::uint8_t { kScalar, kList, kMap, kEnd, kAlias };
  Kind kind = Kind::kScalar;
  std::string text = {};      ///< Of a scalar.
  std::size_t target = 0;     ///< Of an alias: the place of the event with which its value begins.
  std::size_t line = 0;       ///< From 0.
  std::size_t column = 0;     ///< From 0.
  std::size_t last_line = 0;  ///< From 0: the line of its last character.
};

/// Reads the events of a file up to its limits. libyaml's own tree takes the square of the number of brackets and of
/// anchors, before a caller can count them.
class EventReader {
 public:
  explicit EventReader(std::string_view text) {
    ready_ = yaml_parser_initialize(&parser_) == 1;
    if (!ready_) return;
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
    // Other encodings would hide directives from their limit.
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
  }
  EventReader(const EventReader&) = delete;
  EventReader& operator=(const EventReader&) = delete;
  ~EventReader() { yaml_parser_delete(&parser_); }

  Result<std::vector<Event>> events() {
    if (!ready_) return broken(0, "out of memory");
    bool ended = false;
    while (!ended) {
      yaml_event_t event{};
      if (yaml_parser_parse(&parser_, &event) != 1) {
        return broken(parser_.problem_mark.line, parser_.problem == nullptr ? "not YAML" : parser_.problem);
      }
      ended = event.type == YAML_DOCUMENT_END_EVENT || event.type == YAML_STREAM_END_EVENT;
      const auto taken = take(event);
      yaml_event_delete(&event);
      if (!taken) return failure(taken.error());
    }
    return std::move(events_);
  }

 private:
  /// A list or map whose end is not read yet, or a scalar.
  struct Open {
    std::size_t place = 0;
    std::string anchor = {};
    bool in_brackets = false;
  };

  static std::string text_of(const unsigned char* text) {
    return text == nullptr ? std::string() : std::string(reinterpret_cast<const char*>(text));
  }

  Result<void> take(const yaml_event_t& event) {
    switch (event.type) {
      case YAML_SCALAR_EVENT: {
        const auto& scalar = event.data.scalar;
        SPARK_CHECK(add(event, Event::Kind::kScalar));
        events_.back().text.assign(reinterpret_cast<const char*>(scalar.value), scalar.length);
        return finish({events_.size() - 1, text_of(scalar.anchor), false});
      }
      case YAML_SEQUENCE_START_EVENT:
        return open(event, Event::Kind::kList, text_of(event.data.sequence_start.anchor),
                    event.data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE);
      case YAML_MAPPING_START_EVENT:
        return open(event, Event::Kind::kMap, text_of(event.data.mapping_start.anchor),
                    event.data.mapping_start.style == YAML_FLOW_MAPPING_STYLE);
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT:
        return close(event);
      case YAML_ALIAS_EVENT:
        return add_alias(event);
      default:
        return {};
    }
  }

  Result<void> add(const yaml_event_t& event, Event::Kind kind) {
    if (kind != Event::Kind::kEnd && ++values_ > kMostValues) return too_many_values();
    Event one;
    one.kind = kind;
    one.line = event.start_mark.line;
    one.column = event.start_mark.column;
    // A block of text ends where the next line begins. What is empty may have the place of what follows it.
    const bool at_line_begin = event.end_mark.column == 0 && event.end_mark.line > one.line;
    one.last_line = event.end_mark.line - (at_line_begin ? 1U : 0U);
    if (event.start_mark.index == event.end_mark.index) one.last_line = 0;
    events_.push_back(std::move(one));
    return {};
  }

  Result<void> open(const yaml_event_t& event, Event::Kind kind, std::string anchor, bool in_brackets) {
    if (open_.size() >= kMostDepth) {
      return beyond_limits("it is nested deeper than " + std::to_string(kMostDepth) + " levels");
    }
    SPARK_CHECK(add(event, kind));
    open_.push_back({events_.size() - 1, std::move(anchor), in_brackets});
    return {};
  }

  Result<void> close(const yaml_event_t& event) {
    SPARK_CHECK(add(event, Event::Kind::kEnd));
    if (open_.empty()) return broken(event.start_mark.line, "not YAML");
    const Open opened = std::move(open_.back());
    open_.pop_back();
    // Without brackets, the end has the place of what follows it.
    if (!opened.in_brackets) events_.back().last_line = 0;
    return finish(opened);
  }

  /// From here on, the value has the name of its anchor. Within itself it has none: it would have no end.
  Result<void> finish(const Open& value) {
    if (value.anchor.empty() || anchors_.emplace(value.anchor, value.place).second) return {};
    return broken(events_[value.place].line, "found duplicate anchor");
  }

  Result<void> add_alias(const yaml_event_t& event) {
    const auto anchor = anchors_.find(text_of(event.data.alias.anchor));
    if (anchor == anchors_.end()) return broken(event.start_mark.line, "found undefined alias");
    SPARK_CHECK(add(event, Event::Kind::kAlias));
    events_.back().target = anchor->second;
    return {};
  }

  yaml_parser_t parser_{};
  bool ready_ = false;
  std::vector<Event> events_;
  std::vector<Open> open_;
  std::map<std::string, std::size_t> anchors_;
  std::size_t values_ = 0;
};

/// Builds the tree. Each alias becomes a copy of its value, which counts as if the file had its text there.
class TreeBuilder {
 public:
  explicit TreeBuilder(std::vector<Event> events) : events_(std::move(events)) {}

  Result<ParsedYaml> tree() {
    if (events_.empty()) return ParsedYaml{};
    SPARK_TRY(Value tree, next(0, Place::kRoot));
    return ParsedYaml{std::move(tree), std::move(last_lines_)};
  }

 private:
  /// The maps on the way to the definitions whose last lines are wanted.
  enum class Place : std::uint8_t { kRoot, kNetwork, kEthernets, kOther };

  static Place below(Place place, std::string_view key) {
    if (place == Place::kRoot && key == "network") return Place::kNetwork;
    return place == Place::kNetwork && key == "ethernets" ? Place::kEthernets : Place::kOther;
  }

  const Event& take() {
    const Event& event = events_[next_++];
    if (copies_ == 0) last_line_ = std::max(last_line_, event.last_line);
    return event;
  }

  Result<void> count(const Event& event, std::size_t depth) {
    if (++values_ > kMostValues) return too_many_values();
    bytes_ += event.text.size();
    if (bytes_ > kLargestNetplanText) return beyond_limits("its texts are too large, with its aliases replaced");
    if (depth <= kMostDepth) return {};
    return beyond_limits("it is nested deeper than " + std::to_string(kMostDepth) + " levels");
  }

  Result<Value> next(std::size_t depth, Place place) {
    const Event& event = take();
    if (event.kind == Event::Kind::kAlias) return copy_of(event, depth, place);
    SPARK_CHECK(count(event, depth));
    Value value;
    if (event.kind == Event::Kind::kScalar) {
      value = event.text;
    } else if (event.kind == Event::Kind::kList) {
      SPARK_TRY(value, list(depth));
    } else {
      SPARK_TRY(value, map(depth, place));
    }
    const int column = static_cast<int>(event.column) + 1;
    value.where = {static_cast<int>(event.line) + 1, column, column};
    return value;
  }

  Result<Value> copy_of(const Event& alias, std::size_t depth, Place place) {
    const std::size_t behind = std::exchange(next_, alias.target);
    ++copies_;
    auto copy = next(depth, place);
    --copies_;
    next_ = behind;
    return copy;
  }

  bool at_end() const { return events_[next_].kind == Event::Kind::kEnd; }

  Result<Value> list(std::size_t depth) {
    Value::List items;
    while (!at_end()) {
      SPARK_TRY(Value item, next(depth + 1, Place::kOther));
      items.push_back(std::move(item));
    }
    take();
    return Value(std::move(items));
  }

  /// Of entries with the same key, the last one counts, in the place of the first.
  Result<Value> map(std::size_t depth, Place place) {
    Value::Map entries;
    std::map<std::string, std::size_t> places;
    while (!at_end()) {
      const Event& written = take();
      const Event& key = written.kind == Event::Kind::kAlias ? events_[written.target] : written;
      if (key.kind != Event::Kind::kScalar) return broken(key.line, "a key is not text");
      SPARK_CHECK(count(key, depth));
      SPARK_TRY(Value value, next(depth + 1, below(place, key.text)));
      const SourceRange where{static_cast<int>(written.line) + 1, static_cast<int>(written.column) + 1, 0};
      if (place == Place::kEthernets && copies_ == 0) last_lines_[key.text] = static_cast<int>(last_line_) + 1;
      const auto [known, fresh] = places.emplace(key.text, entries.size());
      if (fresh) entries.emplace_back();
      entries[known->second] = MapEntry{key.text, std::move(value), where};
    }
    take();
    return Value(std::move(entries));
  }

  std::vector<Event> events_;
  std::size_t next_ = 0;
  std::size_t copies_ = 0;     ///< Of the aliases that are being replaced.
  std::size_t last_line_ = 0;  ///< From 0, of the events so far.
  std::size_t values_ = 0;
  std::size_t bytes_ = 0;
  std::map<std::string, int> last_lines_;
};

bool has_many_tag_directives(std::string_view text) {
  constexpr std::string_view kTag = "%TAG";
  std::size_t count = 0;
  for (auto at = text.find(kTag); at != std::string_view::npos; at = text.find(kTag, at + kTag.size())) ++count;
  return count > kMostTagDirectives;
}

}  // namespace

Result<ParsedYaml> parse_yaml_with_lines(std::string_view text) {
  if (text.size() > kLargestNetplanText) {
    return beyond_limits("it has more than " + std::to_string(kLargestNetplanText >> 10) + " KiB");
  }
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  if (has_many_tag_directives(text)) return beyond_limits("it has too many %TAG directives");
  SPARK_TRY(auto events, EventReader(text).events());
  return TreeBuilder(std::move(events)).tree();
}

Result<Value> parse_yaml(std::string_view text) {
  SPARK_TRY(ParsedYaml parsed, parse_yaml_with_lines(text));
  return std::move(parsed.tree);
}

}  // namespace sparkplan::netplan
