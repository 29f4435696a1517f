#include "resources/systemd_unit/unit_change.h"

#include <charconv>
#include <utility>
#include <vector>

#include "engine/resource/systemd_units.h"
#include "resources/systemd_unit/unit_state.h"
#include "resources/systemd_unit/unit_text.h"

namespace sparkplan::systemd_unit {
namespace {

/// Errors: kBug for text that no writer of attributes produces.
Result<FileContent> file_with(std::string bytes, const std::string& attributes) {
  FileContent file{std::move(bytes), 0644, 0, 0};
  if (attributes.empty()) return file;
  const char* at = attributes.data();
  const char* const end = at + attributes.size();
  const auto read = [&](std::uint32_t& number, int base) {
    const auto [next, error] = std::from_chars(at, end, number, base);
    at = next == end ? next : next + 1;
    return error == std::errc();
  };
  if (!read(file.mode, 8) || !read(file.uid, 10) || !read(file.gid, 10)) {
    return failure(ErrorCode::kBug, "\"" + attributes + "\" are not file attributes");
  }
  return file;
}

/// One change of one unit, from `now` to `wanted`.
class UnitChange {
 public:
  UnitChange(const std::string& name, const UnitState& now, const WantedUnit& wanted, Node& node)
      : name_(name), now_(now), wanted_(wanted), node_(node) {
    attributes_differ_ = now.attributes != wanted.attributes;
    texts_differ_ = now.content != wanted.content || now.drop_in != wanted.drop_in;
    const bool is_wanted = wanted.drop_in || wanted.up.value_or(false) || wanted.enabled.value_or(false);
    vanishes_ = now.content && !wanted.content && !is_wanted;
    const bool has_old_file = now.running && (now.running->up || now.running->state == state::kFinished);
    restarts_ =
        has_old_file && wanted.up.value_or(false) && can_be_restarted(name) && (texts_differ_ || now.restart_pending);
  }

  Result<void> carry_out() {
    if (vanishes_) SPARK_CHECK(take_down());
    if (restarts_ && texts_differ_) SPARK_CHECK(note_restart());
    SPARK_CHECK(write_files());
    if (!now_.running) return reload_where_live();
    if (!vanishes_) SPARK_CHECK(enable_or_disable());
    SPARK_CHECK(have_systemd_read_it());
    if (vanishes_) {
      forget_failure();
      SPARK_CHECK(record({}));
    } else {
      SPARK_CHECK(start_or_stop());
    }
    return settle_marker();
  }

 private:
  bool files_differ() const { return texts_differ_ || attributes_differ_; }

  /// Runs while the unit file still exists, because systemd needs it to stop and unlink the unit.
  Result<void> take_down() {
    if (!now_.running) return {};
    if (now_.running->up) SPARK_CHECK(systemctl("stop", name_, node_));
    links_differ_ = now_.running->enabled;
    if (now_.running->enabled) SPARK_CHECK(systemctl("disable", name_, node_));
    return {};
  }

  Result<void> note_restart() {
    marked_ = true;
    return node_.write_file(restart_marker(name_), FileContent{"", 0644, 0, 0});
  }

  Result<void> write_files() {
    const auto write = [&](const std::string& path, const std::optional<std::string>& is,
                           const std::optional<std::string>& shall) -> Result<void> {
      if (!shall) return is ? node_.remove_file(path) : Result<void>();
      const bool ours = path == drop_in_path(name_) || is_ours(*shall);
      if (is == shall && !(ours && attributes_differ_)) return {};
      SPARK_TRY(const FileContent file, file_with(*shall, ours ? wanted_.attributes : wanted_.content_attributes));
      return node_.write_file(path, file);
    };
    SPARK_CHECK(write(unit_path(name_), now_.content, wanted_.content));
    SPARK_CHECK(write(drop_in_path(name_), now_.drop_in, wanted_.drop_in));
    if (now_.drop_in && !wanted_.drop_in) remove_empty_directory();
    return {};
  }

  /// The directory may have foreign drop-ins. An empty directory that stays is harmless.
  void remove_empty_directory() {
    const std::vector<std::string> argv{"rmdir", "--ignore-fail-on-non-empty", "--", unit_path(name_) + ".d"};
    static_cast<void>(node_.run(argv, kQueryDeadline));
  }

  /// systemd reads a new unit at the first query for it.
  bool is_new() const { return !now_.running->exists && !vanishes_; }

  Result<void> have_systemd_read_it() {
    const bool reload = files_differ() || links_differ_ || now_.running->needs_reload;
    if (!reload) return {};
    return is_new() ? reload_if_unread() : systemctl("daemon-reload", {}, node_);
  }

  Result<void> reload_if_unread() {
    // A start is such a query.
    if (wanted_.up.value_or(false)) return {};
    SPARK_TRY(const RunningState seen, running_state(name_, node_));
    return seen.exists && !seen.needs_reload ? Result<void>() : systemctl("daemon-reload", {}, node_);
  }

  Result<void> start(const std::string& verb) {
    Result<void> started = systemctl(verb, name_, node_);
    if (started || !is_new()) return started;
    SPARK_TRY(const RunningState seen, running_state(name_, node_));
    if (seen.exists) return started;
    SPARK_CHECK(systemctl("daemon-reload", {}, node_));
    return systemctl(verb, name_, node_);
  }

  /// A template has no state, but its instances use the file.
  Result<void> reload_where_live() {
    if (!node_.live() || !files_differ()) return {};
    return systemctl("daemon-reload", {}, node_);
  }

  /// Without this, `systemctl --failed` may list a removed unit. Usually there is nothing to reset.
  void forget_failure() { static_cast<void>(systemctl("reset-failed", name_, node_)); }

  Result<void> enable_or_disable() {
    if (!wanted_.enabled) return {};
    const bool enabled = now_.running->enabled;
    // A changed [Install] section makes other links.
    const bool again = *wanted_.enabled && enabled && now_.content != wanted_.content;
    if (*wanted_.enabled == enabled && !again) return {};
    links_differ_ = true;
    if (again) return systemctl("reenable", name_, node_);
    return systemctl(*wanted_.enabled ? "enable" : "disable", name_, node_);
  }

  Result<void> start_or_stop() {
    if (!wanted_.up) return {};
    const bool up = now_.running->up;
    if (!*wanted_.up) return up ? systemctl("stop", name_, node_) : Result<void>();
    if (up && !restarts_) return {};
    // After too many failed starts, systemd refuses to try again.
    if (now_.running->state == state::kFailed) SPARK_CHECK(systemctl("reset-failed", name_, node_));
    Result<void> started = start(up ? "restart" : "start");
    if (!started) return failure(with_last_messages(name_, std::move(started).error(), node_));
    SPARK_TRY(const std::string outcome, watch_start(name_, node_));
    return record(outcome == state::kStarted ? std::string() : outcome);
  }

  Result<void> record(const std::string& outcome) {
    if (outcome == now_.outcome) return {};
    const std::string path = outcome_record(name_);
    return outcome.empty() ? node_.remove_file(path) : node_.write_file(path, FileContent{outcome, 0644, 0, 0});
  }

  Result<void> settle_marker() {
    if (wanted_.restart_pending) return now_.restart_pending || marked_ ? Result<void>() : note_restart();
    if (!now_.restart_pending && !marked_) return {};
    return node_.remove_file(restart_marker(name_));
  }

  const std::string& name_;
  const UnitState& now_;
  const WantedUnit& wanted_;
  Node& node_;
  bool attributes_differ_ = false;
  bool texts_differ_ = false;
  bool vanishes_ = false;
  bool links_differ_ = false;
  bool restarts_ = false;
  bool marked_ = false;
};

tl::unexpected<Error> not_as_wanted(const std::string& name, const std::string& what) {
  return failure(ErrorCode::kVerifyFailed, name + " " + what, "systemctl status " + name);
}

Result<void> verify(const std::string& name, const WantedUnit& wanted, const NodeReader& node) {
  SPARK_TRY(const UnitState now, look_at_unit(name, node));
  if (now.content != wanted.content || now.drop_in != wanted.drop_in) {
    return not_as_wanted(name, "does not have the files that were written");
  }
  if (!now.running) return {};
  if (wanted.enabled && now.running->enabled != *wanted.enabled) {
    return not_as_wanted(
        name, "is " + now.running->file_state + " after it was " + (*wanted.enabled ? "enabled" : "disabled"));
  }
  if (wanted.up && !*wanted.up && now.running->up) return not_as_wanted(name, "still runs after it was stopped");
  return {};
}

}  // namespace

Result<void> make_unit(const std::string& name, const WantedUnit& wanted, Node& node) {
  SPARK_TRY(const UnitState now, look_at_unit(name, node));
  SPARK_CHECK(UnitChange(name, now, wanted, node).carry_out());
  return verify(name, wanted, node);
}

}  // namespace sparkplan::systemd_unit
