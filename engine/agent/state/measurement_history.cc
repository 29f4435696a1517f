#include "engine/agent/state/measurement_history.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/agent/node/utc_time.h"
#include "engine/agent/state/manifest_store.h"
#include "engine/core/json.h"
#include "engine/core/text.h"

namespace sparkplan {
namespace {

struct CheckHistory {
  std::string id;
  StoredValues stored;
};

/// The least recently made check comes first.
using Histories = std::vector<CheckHistory>;

/// The runs of `count` values: 0 for each one if an older version wrote the line.
std::vector<std::int64_t> runs_in(const Value& line, std::size_t count) {
  std::vector<std::int64_t> runs(count, 0);
  const auto* found = line.find("runs");
  const auto* list = found == nullptr ? nullptr : found->list_items();
  if (list == nullptr || list->size() != count) return runs;
  for (std::size_t at = 0; at < count; ++at) {
    const std::int64_t* run = (*list)[at].integer();
    if (run != nullptr && *run > 0) runs[at] = *run;
  }
  return runs;
}

std::optional<CheckHistory> parse_line(std::string_view line) {
  const auto value = decode_json(line);
  if (!value || !value->is_map()) return std::nullopt;
  CheckHistory history{value->text_or("id", ""), {}};
  const auto* values = value->find("values");
  if (history.id.empty() || values == nullptr || values->list_items() == nullptr) return std::nullopt;
  for (const auto& one : *values->list_items()) {
    if (one.real() == nullptr && one.integer() == nullptr) return std::nullopt;
    history.stored.values.push_back(one.real() != nullptr ? *one.real() : static_cast<double>(*one.integer()));
  }
  history.stored.runs = runs_in(*value, history.stored.values.size());
  return history;
}

std::optional<Histories> parse(const std::string& text) {
  Histories histories;
  for (const auto line : split_lines(text)) {
    auto history = parse_line(line);
    if (!history) return std::nullopt;
    histories.push_back(std::move(*history));
  }
  return histories;
}

std::string line_of(const CheckHistory& history) {
  Value::List values(history.stored.values.begin(), history.stored.values.end());
  Value::List runs(history.stored.runs.begin(), history.stored.runs.end());
  const Value line =
      Value::map({{"id", history.id}, {"values", Value(std::move(values))}, {"runs", Value(std::move(runs))}});
  return encode_json(line) + "\n";
}

/// The newest lines that fit.
std::string text_of(const Histories& histories) {
  std::vector<std::string> lines;
  std::size_t bytes = 0;
  for (auto at = histories.rbegin(); at != histories.rend(); ++at) {
    lines.push_back(line_of(*at));
    bytes += lines.back().size();
    if (bytes > kMaxMeasurementsBytes) {
      lines.pop_back();
      break;
    }
  }
  std::reverse(lines.begin(), lines.end());
  return join(lines, "");
}

template <class Items>
void keep_newest(Items& items, std::size_t most) {
  if (items.size() > most) items.erase(items.begin(), items.end() - static_cast<std::ptrdiff_t>(most));
}

void add(Histories& histories, const std::string& id, double value, std::int64_t run) {
  CheckHistory history{id, {}};
  const auto found =
      std::find_if(histories.begin(), histories.end(), [&](const CheckHistory& one) { return one.id == id; });
  if (found != histories.end()) {
    history = std::move(*found);
    histories.erase(found);
  }
  history.stored.values.push_back(value);
  history.stored.runs.push_back(run);
  keep_newest(history.stored.values, kKeptMeasurements);
  keep_newest(history.stored.runs, kKeptMeasurements);
  histories.push_back(std::move(history));
}

/// The stored histories; empty without a file. A damaged file is moved away, and `set_aside` names its new path.
Histories read_histories(LocalNode& node, std::string& set_aside) {
  const auto text = node.read_file(kMeasurementsFile, kMaxMeasurementsBytes);
  if (!text && text.error().code == ErrorCode::kNotFound) return {};
  if (auto histories = text ? parse(*text) : std::nullopt) return std::move(*histories);
  set_aside = std::string(kMeasurementsFile) + ".damaged";
  // A file that cannot be moved makes the later write fail.
  (void)node.rename(kMeasurementsFile, set_aside);
  return {};
}

/// The stored runs. A line that cannot be read is left out: only an id and versions are lost with it.
std::vector<MeasuredRun> read_runs(const NodeReader& node) {
  std::vector<MeasuredRun> runs;
  const auto text = node.read_file(kMeasuredRunsFile, kMaxMeasurementsBytes);
  if (!text) return runs;
  for (const auto line : split_lines(*text)) {
    const auto value = decode_json(line);
    if (!value) continue;
    if (auto run = decode<MeasuredRun>(*value)) runs.push_back(std::move(*run));
  }
  keep_newest(runs, kKeptRuns);
  return runs;
}

/// Adds a run. Returns its number, or 0 if it could not be stored: no value depends on it.
std::int64_t store_run(const MeasurementsRequest& request, LocalNode& node) {
  auto runs = read_runs(node);
  std::int64_t newest = 0;
  for (const MeasuredRun& run : runs) newest = std::max(newest, run.number);
  if (newest == std::numeric_limits<std::int64_t>::max()) return 0;
  runs.push_back({newest + 1, request.run, request.versions});
  keep_newest(runs, kKeptRuns);
  std::string text;
  for (const MeasuredRun& run : runs) text += encode_json(encode(run)) + "\n";
  return node.write_file(kMeasuredRunsFile, private_file(text)) ? newest + 1 : 0;
}

Result<void> store(VerifySummary summary, LocalNode& node) {
  summary.time = utc_now();
  return node.write_file(kLastVerifyFile, private_file(encode_json(encode(summary)) + "\n"));
}

Result<VerifySummary> read_summary(const NodeReader& node) {
  constexpr std::size_t kMostBytes = 4096;
  SPARK_TRY(const auto text, node.read_file(kLastVerifyFile, kMostBytes));
  SPARK_TRY(const auto value, decode_json(text));
  return decode<VerifySummary>(value);
}

}  // namespace

Result<MeasurementsReply> keep_measurements(const MeasurementsRequest& request, LocalNode& node) {
  MeasurementsReply reply;
  SPARK_TRY(const auto manifest, read_manifest(node));
  if (!manifest) return reply;
  SPARK_CHECK(node.make_directories(kMeasurementsDirectory, 0700));
  if (request.summary) SPARK_CHECK(store(*request.summary, node));
  if (request.values.empty()) return reply;
  auto histories = read_histories(node, reply.set_aside);
  for (const CheckHistory& history : histories) {
    if (request.values.contains(history.id)) reply.earlier.emplace(history.id, history.stored.values);
  }
  const std::int64_t run = store_run(request, node);
  for (const auto& [id, value] : request.values) add(histories, id, value, run);
  SPARK_CHECK(node.write_file(kMeasurementsFile, private_file(text_of(histories))));
  return reply;
}

Result<MeasurementHistoryReply> measurement_history(const NodeReader& node) {
  MeasurementHistoryReply reply;
  SPARK_TRY(const auto text, if_there(node.read_file(kMeasurementsFile, kMaxMeasurementsBytes)));
  if (!text) return reply;
  auto histories = parse(*text);
  if (!histories) return failure(ErrorCode::kFailed, std::string(kMeasurementsFile) + " is damaged");
  std::size_t values = 0;
  for (auto history = histories->rbegin(); history != histories->rend(); ++history) {
    keep_newest(history->stored.values, kKeptMeasurements);
    keep_newest(history->stored.runs, kKeptMeasurements);
    values += history->stored.values.size();
    if (values > kMostRepliedValues || reply.checks.size() == kMostRepliedChecks) break;
    reply.checks.emplace(std::move(history->id), std::move(history->stored));
  }
  reply.runs = read_runs(node);
  return reply;
}

std::optional<VerifySummary> last_verify(const NodeReader& node) {
  auto summary = read_summary(node);
  return summary ? std::optional(std::move(*summary)) : std::nullopt;
}

}  // namespace sparkplan
