#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "engine/core/text.h"
#include "engine/doctor/nccl_bands.h"
#include "engine/markup/line_chart.h"
#include "engine/report/nodes/facts_report.h"
#include "engine/report/page/heat_map.h"

namespace sparkplan {
namespace {

constexpr std::size_t kMostTicks = 10;
constexpr std::size_t kMostCharts = 24;
constexpr std::size_t kMostLines = 4;  // As many as a chart has colours and marks.
constexpr std::int64_t kMostSmallBytes = std::int64_t{64} << 10;

/// "all" for "all/all_reduce", "spark-01, spark-02" for a pair.
std::string group_of(const Check& check) {
  const auto slash = check.what.find('/');
  if (slash != std::string::npos) return check.what.substr(0, slash) + ", " + fold_names(check.nodes);
  return fold_names(check.nodes);
}

std::string operation_of(const Check& check) {
  const auto slash = check.what.find('/');
  return slash == std::string::npos ? check.what : check.what.substr(slash + 1);
}

/// The measured sizes of one operation, in one placement.
struct SizeLine {
  std::string name;
  std::vector<SizePoint> points;
  std::optional<double> threshold;
  std::optional<double> warning_from;
};

void append_lines(const Check& check, std::vector<SizeLine>& lines) {
  SizeLine out{operation_of(check), {}, check.threshold, check.warning_from};
  SizeLine in{operation_of(check) + " in place", {}, check.threshold, check.warning_from};
  for (const SizePoint& point : check.series) (point.in_place ? in : out).points.push_back(point);
  for (SizeLine* line : {&out, &in}) {
    if (!line->points.empty()) lines.push_back(std::move(*line));
  }
}

std::vector<ChartTick> ticks_of(const std::vector<SizeLine>& lines, std::int64_t most_bytes) {
  std::set<std::int64_t> sizes;
  for (const SizeLine& line : lines) {
    for (const SizePoint& point : line.points) {
      if (point.bytes <= most_bytes) sizes.insert(point.bytes);
    }
  }
  const std::size_t every = sizes.size() / kMostTicks + 1;
  std::vector<ChartTick> ticks;
  std::size_t at = 0;
  for (const std::int64_t bytes : sizes) {
    if (at++ % every == 0) ticks.push_back({static_cast<double>(bytes), bytes_text(bytes)});
  }
  return ticks;
}

LineChart bandwidth_chart(const std::string& title, const std::vector<SizeLine>& lines) {
  LineChart chart;
  chart.title = "NCCL bus bandwidth over size: " + title;
  chart.x_title = "size, B (logarithmic)";
  chart.y_title = "busbw, GB/s";
  chart.ticks = ticks_of(lines, std::numeric_limits<std::int64_t>::max());
  for (const SizeLine& line : lines) {
    ChartLine drawn{line.name, {}};
    for (const SizePoint& point : line.points) drawn.points.push_back({static_cast<double>(point.bytes), point.busbw});
    chart.lines.push_back(std::move(drawn));
    if (chart.threshold || !line.threshold) continue;
    chart.threshold = line.threshold;
    chart.warning_from = line.warning_from;
    // The expected value is for large messages. A comparison with earlier runs is for the largest size, too.
    chart.threshold_from = ChartTick{static_cast<double>(kJudgedNcclBytes), bytes_text(kJudgedNcclBytes)};
  }
  return chart;
}

/// Without lines, unless a line has two small sizes or more.
LineChart latency_chart(const std::string& title, const std::vector<SizeLine>& lines) {
  LineChart chart;
  chart.title = "NCCL time of small messages: " + title;
  chart.x_title = "size, B (logarithmic)";
  chart.y_title = "time, us";
  chart.ticks = ticks_of(lines, kMostSmallBytes);
  for (const SizeLine& line : lines) {
    ChartLine drawn{line.name, {}};
    for (const SizePoint& point : line.points) {
      if (point.bytes > kMostSmallBytes) continue;
      drawn.points.push_back({static_cast<double>(point.bytes), point.time_us});
    }
    if (drawn.points.size() > 1) chart.lines.push_back(std::move(drawn));
  }
  return chart;
}

void write_series(Markup& body, const std::string& title, const std::vector<SizeLine>& lines) {
  body.open("details").element("summary", "The numbers of this chart").newline();
  open_table(body, "num", "NCCL over size: " + title, {"operation", "size", "time, us", "algbw, GB/s", "busbw, GB/s"});
  for (const SizeLine& line : lines) {
    for (const SizePoint& point : line.points) {
      write_row(body, {line.name, bytes_text(point.bytes), number_text(point.time_us), number_text(point.algbw),
                       number_text(point.busbw)});
    }
  }
  close_table(body);
  body.close().newline();
}

void write_chart(Markup& body, const LineChart& chart, const std::string& title, const std::string& id) {
  body.open("div", {{"class", "scroll"}, {"role", "region"}, {"aria-label", "Chart of " + title}, {"tabindex", "0"}});
  draw(body, chart, id);
  body.close().newline();
}

/// The lines of one group, as charts that can be read: one for all operations if they are few, else one each.
std::vector<std::pair<std::string, std::vector<SizeLine>>> charts_of(const std::string& group,
                                                                     const std::vector<const Check*>& checks) {
  std::vector<SizeLine> all;
  for (const Check* check : checks) append_lines(*check, all);
  if (all.size() <= kMostLines) return {{group, std::move(all)}};
  std::vector<std::pair<std::string, std::vector<SizeLine>>> charts;
  for (const Check* check : checks) {
    std::vector<SizeLine> lines;
    append_lines(*check, lines);
    charts.emplace_back(operation_of(*check) + ", " + group, std::move(lines));
  }
  return charts;
}

}  // namespace

void add_size_charts(Page& page, const std::vector<Check>& checks) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<const Check*>> groups;
  for (const Check& check : checks) {
    if (check.series.size() < 2) continue;
    const std::string group = group_of(check);
    if (!groups.contains(group)) order.push_back(group);
    groups[group].push_back(&check);
  }
  if (order.empty()) return;
  std::vector<std::pair<std::string, std::vector<SizeLine>>> charts;
  for (const std::string& group : order) {
    auto added = charts_of(group, groups[group]);
    std::move(added.begin(), added.end(), std::back_inserter(charts));
  }
  Markup& body = page.section("sizes", "NCCL over size");
  for (std::size_t i = 0; i < charts.size(); ++i) {
    if (i == kMostCharts || body.size() > kMostSectionBytes) {
      const std::size_t left = charts.size() - i;
      body.element("p", "And " + counted(left, "more chart") + ": --json has the series of every check.").newline();
      return;
    }
    const auto& [title, lines] = charts[i];
    const std::string id = "chart" + std::to_string(i + 1);
    body.element("h3", title).newline();
    write_chart(body, bandwidth_chart(title, lines), title, id);
    const LineChart latency = latency_chart(title, lines);
    if (!latency.lines.empty()) write_chart(body, latency, "small messages, " + title, id + "-time");
    write_series(body, title, lines);
  }
}

}  // namespace sparkplan
