#include "engine/cli/output/drift_outputs.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <thread>

#include "engine/cli/output/new_file.h"
#include "engine/core/text.h"
#include "engine/load/files_beside.h"
#include "engine/report/plan/plan_for_others.h"
#include "engine/resource/registry.h"
#include "engine/resource/steps.h"

namespace sparkplan {
namespace {

constexpr std::string_view kRunStart = "sparkplan_run_start_timestamp_seconds";
constexpr std::string_view kLastSuccess = "sparkplan_last_success_timestamp_seconds";
/// A daemon that gets too many messages of sparkplan drops the next ones, which are those of other nodes.
constexpr std::size_t kMostMessagesOfNode = 200;
/// A thousand nodes take about 1 MiB.
constexpr std::size_t kMostOfMetrics = std::size_t{64} << 20;

bool is_finding(const Change& change) { return change.origin != Origin::kConfig && !change.is_harmless(); }

bool could_not_look(const NodeReport& node) { return node.error.has_value() || !node.plan.blocked.empty(); }

/// False for nodes that are skipped or that have left the file: the run does not read them.
bool was_asked(const NodeReport& node) {
  return node.status != NodeStatus::kSkipped && node.membership != Membership::kLeaving;
}

bool was_read(const NodeReport& node) { return was_asked(node) && !node.error; }

/// Escapes backslash and quote in a label value. printable() is needed too: a collector drops the whole file for one
/// byte that is not UTF-8. One node's text must not remove the metrics of the other nodes.
std::string label(std::string_view text) {
  std::string escaped;
  for (const char c : printable(text)) {
    if (c == '\\' || c == '"') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

/// A manifest may name any type. New names in each run would fill the memory of Prometheus.
std::string type_label(const std::string& type) {
  return builtin_registry().find(type) == nullptr ? "unknown" : label(type);
}

bool is_secret(const Change& change, const std::string& field) {
  return names_a_secret(change.id.name) || names_a_secret(field);
}

/// A value in a form fit for a log; nothing for an absent value.
std::optional<std::string> logged(const Change& change, const std::string& field, const Value& value) {
  if (value.is_null()) return std::nullopt;
  if (is_secret(change, field)) return "(hidden)";
  const auto* text = value.string();
  // The text of a file is too long for a line, and may hold anything, also without a line break.
  if (change.id.name == kWholeFileName || field == "content" ||
      (text != nullptr && text->find('\n') != std::string::npos))
    return "(text)";
  return display(value);
}

SyslogMessage message_about(const Report& report, const NodeReport& node, std::string id, SyslogSeverity severity) {
  return {severity, std::move(id), {{"cluster", report.cluster}, {"node", node.name}}, {}};
}

SyslogMessage message_about(const Report& report, const NodeReport& node, const Error& error) {
  const bool silent = error.code == ErrorCode::kUnreachable;
  auto message = message_about(report, node, silent ? "unreachable" : "unreadable", SyslogSeverity::kError);
  message.parameters.emplace_back("error", to_string(error.code));
  message.text = node.name + ": " + error.describe();
  return message;
}

SyslogMessage message_about(const Report& report, const NodeReport& node, const Change& change,
                            const FieldChange& field) {
  auto message = message_about(report, node, std::string(to_string(change.origin)), SyslogSeverity::kWarning);
  const auto before = logged(change, field.path, field.before);
  const auto after = logged(change, field.path, field.after);
  message.parameters.emplace_back("resource", change.id.str());
  message.parameters.emplace_back("field", field.path);
  if (before) message.parameters.emplace_back("before", *before);
  if (after) message.parameters.emplace_back("after", *after);
  message.text = node.name + ": " + change.id.str() + " " + field.path + " is " + before.value_or("absent") +
                 ", should " + (after ? "be " + *after : "be absent");
  // A note quotes the value. for_others() does not hide a short one.
  if (!change.note.empty() && !is_secret(change, field.path)) message.text += " (" + change.note + ")";
  return message;
}

void add_messages(const Report& report, const NodeReport& node, std::vector<SyslogMessage>& messages) {
  std::size_t left_out = 0;
  std::size_t count = 0;
  const auto has_room = [&] {
    if (count == kMostMessagesOfNode) ++left_out;
    return count < kMostMessagesOfNode && ++count > 0;
  };
  if (node.error && has_room()) messages.push_back(message_about(report, node, *node.error));
  for (const auto& blocked : node.plan.blocked) {
    if (!has_room()) continue;
    messages.push_back(message_about(report, node, Error(blocked.error).within(blocked.id.str())));
    messages.back().parameters.emplace_back("resource", blocked.id.str());
  }
  for (const auto& change : node.plan.changes) {
    if (!is_finding(change)) continue;
    for (const auto& field : change.fields) {
      if (has_room()) messages.push_back(message_about(report, node, change, field));
    }
  }
  if (left_out == 0) return;
  messages.push_back(message_about(report, node, "more", SyslogSeverity::kWarning));
  messages.back().text = node.name + ": " + std::to_string(left_out) + " more findings: `sparkplan drift` lists them";
}

SyslogMessage message_about(const Report& report, const Diagnostic& diagnostic) {
  SyslogMessage message{SyslogSeverity::kError, "invalid", {}, {}};
  if (!report.cluster.empty()) message.parameters.emplace_back("cluster", report.cluster);
  if (!diagnostic.node.empty()) message.parameters.emplace_back("node", diagnostic.node);
  message.parameters.emplace_back("code", diagnostic.code);
  const auto line = diagnostic.where.known() ? ":" + std::to_string(diagnostic.where.line) : "";
  message.text = (diagnostic.file.empty() ? "" : diagnostic.file + line + ": ") + diagnostic.message;
  return message;
}

void head(std::string& text, std::string_view name, std::string_view help) {
  text += "# HELP " + std::string(name) + " " + std::string(help) + "\n# TYPE " + std::string(name) + " gauge\n";
}

void node_samples(std::string& text, const Report& report) {
  head(text, "sparkplan_node_up", "1 if the node could be read.");
  for (const auto& node : report.nodes) {
    if (!was_asked(node)) continue;
    text += "sparkplan_node_up{node=\"" + label(node.name) + "\"} " + (could_not_look(node) ? "0" : "1") + "\n";
  }
  head(text, "sparkplan_drift", "Resources changed on the node since the last apply, by node and type.");
  for (const auto& node : report.nodes) {
    if (!was_read(node)) continue;
    std::map<std::string, int> by_type;
    for (const auto& [id, value] : node.plan.resulting) by_type[type_label(id.type)];
    for (const auto& change : node.plan.changes) by_type[type_label(change.id.type)] += is_finding(change) ? 1 : 0;
    for (const auto& [type, count] : by_type) {
      text +=
          "sparkplan_drift{node=\"" + label(node.name) + "\",type=\"" + type + "\"} " + std::to_string(count) + "\n";
    }
  }
  head(text, "sparkplan_pending_changes", "Resources that cluster.yaml asks for and that were never applied.");
  for (const auto& node : report.nodes) {
    if (!was_read(node)) continue;
    int pending = 0;
    for (const auto& change : node.plan.changes) pending += change.origin == Origin::kConfig ? 1 : 0;
    text += "sparkplan_pending_changes{node=\"" + label(node.name) + "\"} " + std::to_string(pending) + "\n";
  }
}

/// The temporary file for the new text of `path`.
std::filesystem::path temporary_of(const std::filesystem::path& path) {
  return path.parent_path() / ("." + path.filename().string() + ".new");
}

bool is_still_at(int file, const std::string& path) {
  struct stat here {};
  struct stat there {};
  return ::fstat(file, &here) == 0 && ::lstat(path.c_str(), &there) == 0 && here.st_dev == there.st_dev &&
         here.st_ino == there.st_ino;
}

/// Opens the file and locks it for this process while it is open. Returns -1 and sets errno on failure. A user who may
/// write to the directory can put a FIFO there, or hold the lock for ever.
int open_alone(const std::string& path, std::chrono::milliseconds patience) {
  constexpr std::chrono::milliseconds kPause{20};
  const auto end = std::chrono::steady_clock::now() + patience;
  while (true) {
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644);
    if (file < 0) return -1;
    // On a file system without locks, two simultaneous runs may collide.
    const bool held = ::flock(file, LOCK_EX | LOCK_NB) != 0 && (errno == EWOULDBLOCK || errno == EINTR);
    if (!held && is_still_at(file, path)) return file;
    // The previous run has renamed the file: it is now the file that collectors read.
    ::close(file);
    if (std::chrono::steady_clock::now() >= end) {
      errno = ETIMEDOUT;
      return -1;
    }
    if (held) std::this_thread::sleep_for(kPause);
  }
}

void time_sample(std::string& text, std::string_view name, std::string_view meaning, std::int64_t seconds) {
  if (seconds <= 0) return;
  head(text, name, meaning);
  text += std::string(name) + " " + std::to_string(seconds) + "\n";
}

/// 0 for a text that is no number.
std::int64_t seconds_of(std::string_view text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

std::vector<SyslogMessage> drift_messages(const Report& whole, const Cluster& cluster) {
  std::vector<SyslogMessage> messages;
  const Report report = for_others(whole, cluster);
  for (const auto& diagnostic : report.diagnostics) {
    if (diagnostic.severity == Severity::kError) messages.push_back(message_about(report, diagnostic));
  }
  for (const auto& node : report.nodes) add_messages(report, node, messages);
  return messages;
}

std::string drift_metrics(const Report& report, const MetricTimes& times) {
  std::string text;
  node_samples(text, report);
  time_sample(text, kRunStart, "When this drift check began to read the nodes, in seconds since 1970.",
              times.run_start);
  time_sample(text, kLastSuccess, "When all nodes could last be read, in seconds since 1970.", times.last_success);
  head(text, "sparkplan_run_duration_seconds", "How long the drift check took.");
  text += "sparkplan_run_duration_seconds " + std::to_string(report.duration.count()) + "\n";
  return text;
}

MetricTimes times_in(const std::string& metrics) {
  MetricTimes times;
  for (const auto line : split_lines(metrics)) {
    const auto blank = line.find(' ');
    if (blank == std::string_view::npos) continue;
    const auto name = line.substr(0, blank);
    if (name == kRunStart) times.run_start = seconds_of(line.substr(blank + 1));
    if (name == kLastSuccess) times.last_success = seconds_of(line.substr(blank + 1));
  }
  return times;
}

MetricTimes times_at(const std::string& path) {
  const auto metrics = read_regular_file(path, kMostOfMetrics);
  return metrics ? times_in(*metrics) : MetricTimes();
}

bool is_outdated(std::int64_t run_start, const MetricTimes& written, std::int64_t now) {
  return written.run_start > run_start && written.run_start <= now;
}

Result<void> replace_textfile(const std::string& path, const std::string& text, std::chrono::milliseconds patience) {
  return replace_textfile(
      path, [&] { return std::optional(text); }, patience);
}

Result<void> replace_textfile(const std::string& path, const std::function<std::optional<std::string>()>& text,
                              std::chrono::milliseconds patience) {
  const auto temporary = temporary_of(path).string();
  const int file = open_alone(temporary, patience);
  if (file < 0) return failure(system_error("write " + path + " (through " + temporary + ")", errno));
  Result<void> replaced;
  const auto made = text();
  if (made) {
    replaced = ::ftruncate(file, 0) == 0 && ::fchmod(file, 0644) == 0 ? write_all(file, *made, path)
                                                                      : failure(system_error("write " + path, errno));
    if (replaced && ::rename(temporary.c_str(), path.c_str()) != 0)
      replaced = failure(system_error("write " + path, errno));
  }
  if (!made || !replaced) ::unlink(temporary.c_str());
  ::close(file);
  return replaced;
}

}  // namespace sparkplan
