#include "engine/agent/state/measurement_history.h"

#include <algorithm>
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
  std::vector<double> values;  ///< Oldest first.
};

/// The least recently made check comes first.
using Histories = std::vector<CheckHistory>;

std::optional<CheckHistory> parse_line(std::string_view line) {
  const auto value = decode_json(line);
  if (!value || !value->is_map()) return std::nullopt;
  CheckHistory history{value->text_or("id", ""), {}};
  const auto* values = value->find("values");
  if (history.id.empty() || values == nullptr || values->list_items() == nullptr) return std::nullopt;
  for (const auto& one : *values->list_items()) {
    if (one.real() == nullptr && one.integer() == nullptr) return std::nullopt;
    history.values.push_back(one.real() != nullptr ? *one.real() : static_cast<double>(*one.integer()));
  }
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
  Value::List values(history.values.begin(), history.values.end());
  return encode_json(Value::map({{"id", history.id}, {"values", Value(std::move(values))}})) + "\n";
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

void add(Histories& histories, const std::string& id, double value) {
  CheckHistory history{id, {}};
  const auto found =
      std::find_if(histories.begin(), histories.end(), [&](const CheckHistory& one) { return one.id == id; });
  if (found != histories.end()) {
    history = std::move(*found);
    histories.erase(found);
  }
  history.values.push_back(value);
  if (history.values.size() > kKeptMeasurements) {
    history.values.erase(history.values.begin(), history.values.end() - std::ptrdiff_t{kKeptMeasurements});
  }
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

Result<void> store(VerifySummary summary, LocalNode& node) {
  summary.time = utc_now();
  return node.write_file(kLastVerifyFile, FileContent{encode_json(encode(summary)) + "\n", 0600, 0, 0});
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
    if (request.values.contains(history.id)) reply.earlier.emplace(history.id, history.values);
  }
  for (const auto& [id, value] : request.values) add(histories, id, value);
  SPARK_CHECK(node.write_file(kMeasurementsFile, FileContent{text_of(histories), 0600, 0, 0}));
  return reply;
}

std::optional<VerifySummary> last_verify(const NodeReader& node) {
  auto summary = read_summary(node);
  return summary ? std::optional(std::move(*summary)) : std::nullopt;
}

}  // namespace sparkplan
