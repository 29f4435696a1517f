#include "engine/agent/state/journal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "engine/agent/node/utc_time.h"
#include "engine/agent/state/manifest_store.h"
#include "engine/core/ids.h"
#include "engine/core/json.h"

namespace sparkplan {
namespace {

/// Run ids begin with their time, so the names are in the order of the runs. `current` stays: the controller's clock
/// may be behind, and this run's journal must not be removed.
Result<void> remove_oldest(LocalNode& node, const std::string& current) {
  SPARK_TRY(auto names, node.list_directory(journal_directory()));
  std::erase(names, current);
  for (std::size_t i = 0; i + Journal::kKeptRuns <= names.size(); ++i) {
    SPARK_CHECK(node.remove_file(journal_directory() / names[i]));
  }
  return {};
}

}  // namespace

std::filesystem::path journal_directory() { return std::filesystem::path(kStateDirectory) / "journal"; }

Result<Journal> Journal::open(const std::string& run, LocalNode& node) {
  if (!is_run_id(run)) return failure(ErrorCode::kInvalidInput, "the run id contains invalid characters");
  SPARK_CHECK(prepare_state_directory(node));
  SPARK_CHECK(node.make_directories(journal_directory(), 0700));
  const auto name = run + ".jsonl";
  SPARK_TRY(FileDescriptor file,
            node.open_descriptor(journal_directory() / name, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0600));
  Journal journal(std::move(file));
  SPARK_CHECK(remove_oldest(node, name));
  return journal;
}

Result<void> Journal::begin(Value fields) {
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) return failure(system_error("stat the journal", errno));
  return status.st_size == 0 ? write_line("begin", std::move(fields), false) : Result<void>();
}

Result<void> Journal::append(std::string_view event, Value fields) {
  return write_line(event, std::move(fields), true);
}

Result<void> Journal::append_for_next_sync(std::string_view event, Value fields) {
  return write_line(event, std::move(fields), false);
}

Result<void> Journal::sync() {
  if (!unsynced_) return {};
  if (::fdatasync(file_.get()) != 0) return failure(system_error("sync the journal", errno));
  unsynced_ = false;
  return {};
}

Result<void> Journal::write_line(std::string_view event, Value fields, bool to_disk) {
  Value line = Value::map({{"time", utc_now()}, {"event", event}});
  if (auto* entries = fields.entries()) {
    for (auto& entry : *entries) line.set(entry.key, std::move(entry.value));
  }
  const auto text = encode_json(line) + "\n";
  struct stat before {};
  if (::fstat(file_.get(), &before) != 0) return failure(system_error("stat the journal", errno));
  const auto written = ::write(file_.get(), text.data(), text.size());
  if (written == static_cast<ssize_t>(text.size()) && (!to_disk || ::fdatasync(file_.get()) == 0)) {
    unsynced_ = !to_disk;
    return {};
  }
  // A full disk accepts a part without an error.
  const int why = written < 0 || written == static_cast<ssize_t>(text.size()) ? errno : ENOSPC;
  auto error = system_error("write the journal in /var/lib/sparkplan/journal", why);
  if (::ftruncate(file_.get(), before.st_size) != 0) error.message += "; the journal now ends with a partial line";
  return failure(std::move(error));
}

void log_to_syslog(int priority, const std::string& line, const LocalNode& node) {
  if (!node.live()) return;
  ::openlog("sparkplan", LOG_PID, LOG_AUTHPRIV);
  ::syslog(priority, "%s", line.c_str());
  ::closelog();
}

}  // namespace sparkplan
