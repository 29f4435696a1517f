#pragma once

#include <map>
#include <optional>
#include <string>

#include "tests/integration/lab.h"

namespace sparkplan::test {

inline const std::string kSysctlFile = "/etc/sysctl.d/90-sparkplan.conf";
inline const std::string kProfileFile = "/etc/profile.d/sparkplan-env.sh";
inline const std::string kHostsFile = "/etc/hosts";
inline const std::string kAgentFile = "/usr/local/libexec/sparkplan/agent";
inline const std::string kManifestFile = "/var/lib/sparkplan/manifest.json";
inline const std::string kJournalDirectory = "/var/lib/sparkplan/journal";

/// One host of the lab, looked at with the tools that an administrator would use.
class Host {
 public:
  /// Puts the host back to how it was before sparkplan saw it, as a fresh start for a case.
  explicit Host(int number, const Lab& lab = Lab::get());

  int number() const { return number_; }
  std::string name() const { return "spark-0" + std::to_string(number_); }
  std::string address() const { return "10.77.0." + std::to_string(number_); }

  CapturedOutput run(const Words& argv) const { return lab_->exec(number_, argv); }
  /// What a shell line prints, as root; throws when it fails.
  std::string shell(const std::string& line) const;

  /// `sysctl -n KEY`
  std::string sysctl(const std::string& key) const;
  void set_sysctl(const std::string& key, const std::string& value) const;
  /// What KEY will be after the next boot, by systemd's own reading of all sysctl.d directories.
  std::string sysctl_at_boot(const std::string& key) const;
  /// The variable in a new login shell of `user`; empty when it is not set.
  std::string login_variable(const std::string& name, const std::string& user = "operator") const;
  /// "ssh-ed25519 AAAA…", as a line of known_hosts has it behind the host's name.
  std::string public_key(const std::string& type = "ed25519") const;
  /// "SHA256:…" as ssh-keygen shows it.
  std::string fingerprint(const std::string& type = "ed25519") const;
  /// `getent hosts NAME`: the address, or nothing.
  std::string resolve(const std::string& name) const;

  /// Files, seen from outside, also while the host is off. What is mounted in the host is not seen.
  std::filesystem::path path(const std::string& absolute) const { return lab_->root(number_) / absolute.substr(1); }
  bool has(const std::string& file) const {
    return std::filesystem::exists(std::filesystem::symlink_status(path(file)));
  }
  std::optional<std::string> text(const std::string& file) const;
  void write(const std::string& file, const std::string& content, unsigned int mode = 0644) const;
  void remove(const std::string& file) const;
  void append(const std::string& file, const std::string& more) const;
  /// Changes whenever somebody writes to the file or puts another in its place.
  std::string identity(const std::string& file) const;

  /// Every file below /etc /home /root /run /usr /var with all that can be told of it, without what
  /// the system itself changes all the time.
  std::map<std::string, std::string> tree() const;

 private:
  void reset() const;

  int number_;
  const Lab* lab_;
};

}  // namespace sparkplan::test
