#include "engine/report/changes/change_groups.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/report/changes/folded_names.h"

namespace sparkplan {
namespace {

constexpr std::size_t kFewVariants = 2;   // Such variants are lines of their own in a plan.
constexpr std::size_t kLeastFolded = 3;   // Fewer resources are listed.
constexpr std::size_t kLeastCounted = 5;  // Fewer new resources whose names are no series are listed.
constexpr std::size_t kNamesBesideCount = 2;
constexpr std::string_view kOnePerNode = " one each";
constexpr std::string_view kUnit = "\x1f";  // No printable text contains it.

/// The resource; foreign settings and blocked resources stay apart from its change.
using Key = std::tuple<std::string, std::string, bool>;

Key key_of(const ChangeText& text) { return {text.type, text.name, text.symbol == '!'}; }

/// Equal for equal texts. A lookup by it is cheaper than one by the texts, and a large cluster has many of them.
std::string fingerprint_of(const ChangeText& text, bool with_fields) {
  std::string all(1, text.symbol);
  const auto add = [&](const std::string& part) { all.append(kUnit).append(part); };
  for (const Part& mark : text.marks) add(mark.text);
  add("");
  for (const BodyLine& line : text.body) add(line.part.text);
  if (!with_fields) return all;
  add("");
  for (const FieldText& field : text.fields) {
    add(field.label);
    add(field.text);
  }
  return all;
}

/// One resource on all nodes.
struct Resources {
  std::vector<ChangeGroup> variants;
  std::map<std::string, std::size_t> places;  ///< By fingerprint.

  void add(ChangeText text, const std::string& node) {
    const auto [place, is_new] = places.emplace(fingerprint_of(text, true), variants.size());
    if (is_new) variants.push_back({std::move(text), {}});
    // A node may repeat a foreign claim. It is still one node.
    std::vector<std::string>& nodes = variants[place->second].nodes;
    if (nodes.empty() || nodes.back() != node) nodes.push_back(node);
  }
};

/// In an order that agrees with the order of each node, as far as they agree with each other.
class InOrder {
 public:
  void add(std::vector<ChangeText> changes, const std::string& node) {
    auto place = first_known(changes);
    for (ChangeText& text : changes) {
      const Key key = key_of(text);
      auto known = known_.find(key);
      if (known == known_.end()) known = known_.emplace(key, order_.emplace(place)).first;
      place = std::next(known->second);
      known->second->add(std::move(text), node);
    }
  }
  std::list<Resources>& all() { return order_; }

 private:
  /// Where new resources go that come before all known ones of the node.
  std::list<Resources>::iterator first_known(const std::vector<ChangeText>& changes) {
    for (const ChangeText& text : changes) {
      if (const auto known = known_.find(key_of(text)); known != known_.end()) return known->second;
    }
    return order_.end();
  }

  std::list<Resources> order_;
  std::map<Key, std::list<Resources>::iterator> known_;
};

const std::string* text_of(const ChangeText& text, const std::string& label) {
  for (const FieldText& field : text.fields) {
    if (field.label == label) return &field.text;
  }
  return nullptr;
}

std::string shown_as_differing(const std::string& label, bool outcome) {
  if (label.empty()) return outcome ? "" : "values per node";
  return outcome ? "" : "per node";
}

/// The place of each node in the report.
using Places = std::map<std::string, std::size_t>;

void put_in_order(std::vector<std::string>& nodes, const Places& places) {
  std::ranges::sort(nodes, [&](const std::string& a, const std::string& b) { return places.at(a) < places.at(b); });
}

/// "192.168.100.[11-18] one each", if the names of the nodes and their values can be read side by side.
std::optional<std::string> series_of(const NodeTable::Column& column, const std::vector<std::string>& nodes) {
  // A node may have no value, or two variants of the resource.
  if (column.cells.size() != nodes.size()) return std::nullopt;
  const auto names = folded_series(nodes);
  if (!names || text_width(*names) > kWidestNodes) return std::nullopt;
  std::vector<std::string> values;
  for (const std::string& node : nodes) values.push_back(column.cells.at(node));
  auto series = folded_series(values);
  if (series) series->append(kOnePerNode);
  return series;
}

/// How groups are made.
struct Grouping {
  bool outcome = false;
  bool verbose = false;
  Places places;
};

/// Makes one group of variants that differ only in their fields.
class Merger {
 public:
  Merger(const Grouping& grouping, NodeTable& table) : grouping_(grouping), table_(table) {}

  ChangeGroup merge(std::vector<ChangeGroup> variants) {
    ChangeGroup whole{variants.front().text, {}};
    whole.text.fields.clear();
    for (const ChangeGroup& variant : variants)
      whole.nodes.insert(whole.nodes.end(), variant.nodes.begin(), variant.nodes.end());
    put_in_order(whole.nodes, grouping_.places);
    for (const ChangeGroup& variant : variants) {
      for (const FieldText& field : variant.text.fields) add_field(field, variants, whole);
    }
    return whole;
  }

 private:
  void add_field(const FieldText& field, const std::vector<ChangeGroup>& variants, ChangeGroup& group) {
    ChangeText& whole = group.text;
    if (text_of(whole, field.label) != nullptr) return;
    const bool same = std::all_of(variants.begin(), variants.end(), [&](const ChangeGroup& variant) {
      const std::string* text = text_of(variant.text, field.label);
      return text != nullptr && *text == field.text;
    });
    if (same) return whole.fields.push_back(field);
    whole.fields.push_back({field.label, shown_as_differing(field.label, grouping_.outcome)});
    if (grouping_.outcome) return;
    NodeTable::Column column{whole.name, field.label, {}};
    for (const ChangeGroup& variant : variants) {
      const std::string* text = text_of(variant.text, field.label);
      if (text == nullptr) continue;
      for (const std::string& node : variant.nodes) column.cells.emplace(node, *text);
    }
    const auto series = grouping_.verbose ? std::nullopt : series_of(column, group.nodes);
    if (!series) return table_.columns.push_back(std::move(column));
    whole.fields.back().text = *series;
  }

  const Grouping& grouping_;
  NodeTable& table_;
};

/// The groups of one resource. Variants are merged only if the same can be said of all their nodes.
std::vector<ChangeGroup> groups_of(Resources resources, const Grouping& grouping, NodeTable& table) {
  std::vector<std::pair<std::string, std::vector<ChangeGroup>>> classes;
  for (ChangeGroup& variant : resources.variants) {
    const std::string fingerprint = fingerprint_of(variant.text, false);
    auto known = std::ranges::find_if(classes, [&](const auto& one) { return one.first == fingerprint; });
    if (known == classes.end()) known = classes.insert(classes.end(), {fingerprint, {}});
    known->second.push_back(std::move(variant));
  }
  std::vector<ChangeGroup> groups;
  for (auto& [fingerprint, variants] : classes) {
    if (variants.size() > (grouping.outcome ? 1 : kFewVariants)) {
      groups.push_back(Merger(grouping, table).merge(std::move(variants)));
    } else {
      std::move(variants.begin(), variants.end(), std::back_inserter(groups));
    }
  }
  return groups;
}

/// A series over the nodes is not also one over the resources.
bool may_fold(const ChangeGroup& group) {
  return group.text.body.empty() && group.text.fields.size() == 1 && group.text.symbol != '!' &&
         !group.text.fields.front().text.ends_with(kOnePerNode);
}

bool alike(const ChangeGroup& a, const ChangeGroup& b) {
  return may_fold(a) && may_fold(b) && a.text.type == b.text.type && a.text.symbol == b.text.symbol &&
         a.text.marks == b.text.marks && a.nodes == b.nodes &&
         a.text.fields.front().label == b.text.fields.front().label;
}

/// The groups [from, to) as one. Their names are the series `name`.
ChangeGroup folded_as(const std::string& name, const std::vector<ChangeGroup>& groups, std::size_t from,
                      std::size_t to) {
  std::vector<std::string> values;
  for (std::size_t i = from; i < to; ++i) values.push_back(groups[i].text.fields.front().text);
  ChangeGroup whole = groups[from];
  whole.text.name = name;
  const bool same = std::all_of(values.begin(), values.end(), [&](const auto& one) { return one == values.front(); });
  if (same) return whole;
  const auto value = folded_series(values);
  whole.text.fields.front().text = value ? *value : std::to_string(values.size()) + " values";
  return whole;
}

/// Consecutive groups that are alike. Their end may be a series of names.
class Run {
 public:
  /// The run that begins at `from`.
  Run(const std::vector<ChangeGroup>& groups, std::size_t from) : end_(from + 1), series_(from + 1) {
    while (end_ < groups.size() && alike(groups[from], groups[end_])) ++end_;
    series_ = end_;
    if (end_ - from < kLeastFolded) return;
    std::vector<std::string> names;
    for (std::size_t i = from; i < end_; ++i) names.push_back(groups[i].text.name);
    const auto is_series = [&](std::size_t begin) {
      return folded_series(std::span(names).subspan(begin)).has_value();
    };
    // The end of a series is a series too, so a search by halves finds the longest one. To try each beginning would
    // take the square of the number of names.
    std::size_t shortest = names.size() - kLeastFolded;
    if (!is_series(shortest)) return;
    for (std::size_t least = 0; least < shortest;) {
      const std::size_t middle = least + (shortest - least) / 2;
      if (is_series(middle)) {
        shortest = middle;
      } else {
        least = middle + 1;
      }
    }
    series_ = from + shortest;
    name_of_series_ = *folded_series(std::span(names).subspan(shortest));
  }

  std::size_t end() const { return end_; }
  /// The beginning of the longest series at the end of the run. The end, if the run has no series.
  std::size_t series() const { return series_; }
  const std::string& name_of_series() const { return name_of_series_; }

 private:
  std::size_t end_;
  std::size_t series_;
  std::string name_of_series_;
};

/// "30 packages (curl, git, ...)"
std::string counted_names(const std::vector<ChangeGroup>& groups, std::size_t from, std::size_t to) {
  std::string noun = groups[from].text.type;
  std::replace(noun.begin(), noun.end(), '_', ' ');
  if (noun.ends_with('s')) noun = "resource";
  std::string names;
  for (std::size_t i = from; i < from + kNamesBesideCount; ++i) names += groups[i].text.name + ", ";
  return counted(to - from, noun) + " (" + names + "...)";
}

/// The end of the new resources after `from` that are as the one there, except for their names.
std::size_t end_of_equals(const std::vector<ChangeGroup>& groups, std::size_t from) {
  std::size_t end = from + 1;
  if (groups[from].text.symbol != '+') return end;
  while (end < groups.size() && alike(groups[from], groups[end]) &&
         groups[from].text.fields == groups[end].text.fields) {
    ++end;
  }
  return end;
}

/// Pushes the groups of the run that begins at `from`; returns the first group after it that is not pushed.
std::size_t fold_run(std::vector<ChangeGroup>& groups, std::size_t from, std::vector<ChangeGroup>& result) {
  const Run run(groups, from);
  std::size_t i = from;
  while (i < run.series()) {
    const std::size_t end = end_of_equals(groups, i);
    if (end - i < kLeastCounted) {
      result.push_back(std::move(groups[i++]));
      continue;
    }
    result.push_back(groups[i]);
    result.back().text.name = counted_names(groups, i, end);
    i = end;
  }
  if (i == run.end()) return i;
  // Equal resources before the series may have taken its beginning.
  if (i > run.series()) return i;
  result.push_back(folded_as(run.name_of_series(), groups, i, run.end()));
  return run.end();
}

std::vector<ChangeGroup> folded(std::vector<ChangeGroup> groups) {
  std::vector<ChangeGroup> result;
  for (std::size_t i = 0; i < groups.size();) i = fold_run(groups, i, result);
  return result;
}

}  // namespace

GroupedChanges group_changes(const std::vector<std::string>& nodes, std::vector<std::vector<ChangeText>> changes,
                             bool outcome, const TextStyle& style) {
  InOrder order;
  for (std::size_t i = 0; i < nodes.size(); ++i) order.add(std::move(changes[i]), nodes[i]);
  Grouping grouping{outcome, style.verbose, {}};
  for (std::size_t i = 0; i < nodes.size(); ++i) grouping.places.emplace(nodes[i], i);
  GroupedChanges result;
  for (Resources& resources : order.all()) {
    auto groups = groups_of(std::move(resources), grouping, result.table);
    std::move(groups.begin(), groups.end(), std::back_inserter(result.groups));
  }
  for (ChangeGroup& group : result.groups) {
    put_in_order(group.nodes, grouping.places);
    // A node with two variants of a resource has been added twice.
    group.nodes.erase(std::unique(group.nodes.begin(), group.nodes.end()), group.nodes.end());
  }
  if (!style.verbose) result.groups = folded(std::move(result.groups));
  return result;
}

}  // namespace sparkplan
