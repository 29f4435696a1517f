#pragma once

#include <map>
#include <optional>
#include <string>

#include "tests/integration/lab/lab.h"

namespace sparkplan::test {

inline const std::string kSysctlFile = "/etc/sysctl.d/90-sparkplan.conf";
inline const std::string kProfileFile = "/etc/profile.d/sparkplan-env.sh";
inline const std::string kHostsFile = "/etc/hosts";
inline const std::string kAgentFile = "/usr/local/libexec/sparkplan/agent";
inline const std::string kManifestFile = "/var/lib/sparkplan/manifest.json";
inline const std::string kJournalDirectory = "/var/lib/sparkplan/journal";

/// One host of the lab, checked with the tools that an administrator would use.
class Host {
 public:
  /// Resets the host to its state before sparkplan, so that a case starts clean.
  explicit Host(int number, const Lab& lab = Lab::get());

  int number() const { return number_; }
  std::string name() const { return "spark-0" + std::to_string(number_); }
  std::string address() const { return "10.77.0." + std::to_string(number_); }

  CapturedOutput run(const Words& argv) const { return lab_->exec(number_, argv); }
  /// The output of a shell line that runs as root; throws when the line fails.
  std::string shell(const std::string& line) const;

  /// The output of `sysctl -n KEY`.
  std::string sysctl(const std::string& key) const;
  void set_sysctl(const std::string& key, const std::string& value) const;
  /// The value of KEY after the next boot, as systemd reads all sysctl.d directories.
  std::string sysctl_at_boot(const std::string& key) const;
  /// The variable in a new login shell of `user`; empty when it is not set.
  std::string login_variable(const std::string& name, const std::string& user = "operator") const;
  /// "ssh-ed25519 AAAA…", as known_hosts lists it after the host's name.
  std::string public_key(const std::string& type = "ed25519") const;
  /// "SHA256:…" as ssh-keygen shows it.
  std::string fingerprint(const std::string& type = "ed25519") const;
  /// `getent hosts NAME`: the address, or empty.
  std::string resolve(const std::string& name) const;

  /// Files of the host, read from this machine; that works while the host is off. Files on the host's own mounts are
  /// not visible.
  std::filesystem::path path(const std::string& absolute) const { return lab_->root(number_) / absolute.substr(1); }
  bool has(const std::string& file) const {
    return std::filesystem::exists(std::filesystem::symlink_status(path(file)));
  }
  std::optional<std::string> text(const std::string& file) const;
  void write(const std::string& file, const std::string& content, unsigned int mode = 0644) const;
  void remove(const std::string& file) const;
  void append(const std::string& file, const std::string& more) const;
  /// A value that changes whenever the file is written or replaced.
  std::string identity(const std::string& file) const;

  /// All files below /etc /home /root /run /usr /var with mode, owner, size, time and digest. Paths that the system
  /// itself changes all the time are left out.
  std::map<std::string, std::string> tree() const;

 private:
  void reset() const;

  int number_;
  const Lab* lab_;
};

}  // namespace sparkplan::test
