#include "engine/cli/drift_outputs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <map>

#include "engine/core/text.h"

namespace sparkplan {
namespace {

constexpr std::string_view kLastSuccess = "sparkplan_last_success_timestamp_seconds";

bool is_finding(const Change& change) { return change.origin != Origin::kConfig; }

bool could_not_look(const NodeReport& node) { return node.error.has_value() || !node.plan.blocked.empty(); }

/// A label value: backslash, quote and newline escaped.
std::string label(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\' || c == '"' || c == '\n') escaped += '\\';
    escaped += c == '\n' ? 'n' : c;
  }
  return escaped;
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : printable(text)) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

void head(std::string& text, std::string_view name, std::string_view help) {
  text += "# HELP " + std::string(name) + " " + std::string(help) + "\n# TYPE " + std::string(name) + " gauge\n";
}

void node_samples(std::string& text, const Report& report) {
  head(text, "sparkplan_node_up", "1 if the node could be looked at.");
  for (const auto& node : report.nodes) {
    if (node.status == NodeStatus::kSkipped) continue;
    text += "sparkplan_node_up{node=\"" + label(node.name) + "\"} " + (could_not_look(node) ? "0" : "1") + "\n";
  }
  head(text, "sparkplan_drift", "Resources changed behind sparkplan's back, by node and type.");
  for (const auto& node : report.nodes) {
    std::map<std::string, int> by_type;
    for (const auto& change : node.plan.changes) by_type[change.id.type] += is_finding(change) ? 1 : 0;
    for (const auto& [type, count] : by_type) {
      text += "sparkplan_drift{node=\"" + label(node.name) + "\",type=\"" + label(type) + "\"} " +
              std::to_string(count) + "\n";
    }
  }
  head(text, "sparkplan_pending_changes", "Resources that cluster.yaml asks for and that were never applied.");
  for (const auto& node : report.nodes) {
    int pending = 0;
    for (const auto& change : node.plan.changes) pending += change.origin == Origin::kConfig ? 1 : 0;
    text += "sparkplan_pending_changes{node=\"" + label(node.name) + "\"} " + std::to_string(pending) + "\n";
  }
}

}  // namespace

std::vector<std::string> drift_log_lines(const Report& report) {
  std::vector<std::string> lines;
  const auto prefix = [&](const NodeReport& node) { return "cluster=" + report.cluster + " node=" + node.name; };
  for (const auto& node : report.nodes) {
    if (node.error) lines.push_back(prefix(node) + " finding=unreadable error=" + quoted(node.error->describe()));
    for (const auto& blocked : node.plan.blocked) {
      lines.push_back(prefix(node) + " finding=unreadable resource=" + quoted(blocked.id.str()) +
                      " error=" + quoted(blocked.error.describe()));
    }
    for (const auto& change : node.plan.changes) {
      if (!is_finding(change)) continue;
      for (const auto& field : change.fields) {
        lines.push_back(prefix(node) + " finding=" + std::string(to_string(change.origin)) +
                        " resource=" + quoted(change.id.str()) + " field=" + quoted(field.path) +
                        " is=" + quoted(display(field.before)) + " should_be=" + quoted(display(field.after)));
      }
    }
  }
  return lines;
}

std::string drift_metrics(const Report& report, std::int64_t last_success) {
  std::string text;
  node_samples(text, report);
  if (last_success > 0) {
    head(text, kLastSuccess, "When every node could last be looked at, in seconds since 1970.");
    text += std::string(kLastSuccess) + " " + std::to_string(last_success) + "\n";
  }
  head(text, "sparkplan_run_duration_seconds", "How long the drift check took.");
  text += "sparkplan_run_duration_seconds " + std::to_string(report.duration.count()) + "\n";
  return text;
}

std::int64_t last_success_in(const std::string& metrics) {
  for (const auto line : split_lines(metrics)) {
    const auto blank = line.find(' ');
    if (blank == std::string_view::npos || line.substr(0, blank) != kLastSuccess) continue;
    const auto number = line.substr(blank + 1);
    std::int64_t value = 0;
    std::from_chars(number.data(), number.data() + number.size(), value);
    return value;
  }
  return 0;
}

Result<void> replace_textfile(const std::string& path, const std::string& text) {
  const auto temporary = path + "." + std::to_string(::getpid());
  const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file < 0) return failure(system_error("write " + temporary, errno));
  const bool written = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                       ::fchmod(file, 0644) == 0 && ::fsync(file) == 0;
  int error = errno;
  ::close(file);
  if (written && ::rename(temporary.c_str(), path.c_str()) == 0) return {};
  if (written) error = errno;
  ::unlink(temporary.c_str());
  return failure(system_error("write " + path, error));
}

}  // namespace sparkplan
