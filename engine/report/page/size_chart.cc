#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "engine/core/text.h"
#include "engine/markup/line_chart.h"
#include "engine/report/nodes/facts_report.h"
#include "engine/report/page/heat_map.h"

namespace sparkplan {
namespace {

constexpr std::size_t kMostTicks = 10;
constexpr std::size_t kMostCharts = 24;

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

std::vector<ChartTick> ticks_of(const std::vector<const Check*>& checks) {
  std::set<std::int64_t> sizes;
  for (const Check* check : checks) {
    for (const SizePoint& point : check->series) sizes.insert(point.bytes);
  }
  const std::size_t every = sizes.size() / kMostTicks + 1;
  std::vector<ChartTick> ticks;
  std::size_t at = 0;
  for (const std::int64_t bytes : sizes) {
    if (at++ % every == 0) ticks.push_back({static_cast<double>(bytes), bytes_text(bytes)});
  }
  return ticks;
}

LineChart chart_of(const std::string& group, const std::vector<const Check*>& checks) {
  LineChart chart;
  chart.title = "NCCL bus bandwidth over size: " + group;
  chart.x_title = "size";
  chart.y_title = "busbw, GB/s";
  chart.ticks = ticks_of(checks);
  for (const Check* check : checks) {
    ChartLine line{operation_of(*check), {}};
    for (const SizePoint& point : check->series) line.points.push_back({static_cast<double>(point.bytes), point.busbw});
    chart.lines.push_back(std::move(line));
    if (!chart.threshold) chart.threshold = check->threshold;
  }
  return chart;
}

void write_series(Markup& body, const std::string& group, const std::vector<const Check*>& checks) {
  body.open("details").element("summary", "The numbers of this chart").newline();
  open_table(body, "num", "NCCL over size: " + group, {"operation", "size", "time, us", "algbw, GB/s", "busbw, GB/s"});
  for (const Check* check : checks) {
    for (const SizePoint& point : check->series) {
      write_row(body, {operation_of(*check), bytes_text(point.bytes), number_text(point.time_us),
                       number_text(point.algbw), number_text(point.busbw)});
    }
  }
  close_table(body);
  body.close().newline();
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
  Markup& body = page.section("sizes", "NCCL over size");
  std::size_t number = 0;
  for (const std::string& group : order) {
    if (++number > kMostCharts || body.size() > kMostSectionBytes) {
      const std::size_t left = order.size() - number + 1;
      body.element("p", "And " + counted(left, "more chart") + ": --json has the series of every check.").newline();
      return;
    }
    body.element("h3", group).newline();
    body.open("div", {{"class", "scroll"}, {"role", "region"}, {"aria-label", "Chart of " + group}, {"tabindex", "0"}});
    draw(body, chart_of(group, groups[group]), "chart" + std::to_string(number));
    body.close().newline();
    write_series(body, group, groups[group]);
  }
}

}  // namespace sparkplan
