#include "tests/integration/lab/host.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>
#include <stdexcept>

#include "engine/core/text.h"

namespace sparkplan::test {
namespace {

namespace fs = std::filesystem;

/// Removes everything that a case may have put on a host, including a case that ended half-way.
constexpr std::string_view kResetScript = R"(
if [ -e /run/lab-pids ]; then xargs -r kill -9 </run/lab-pids 2>/dev/null; fi
for place in /etc/sysctl.d /etc/profile.d /var/lib/sparkplan; do
  while mountpoint -q "$place"; do umount -l "$place"; done
done
rm -rf /var/lib/sparkplan /usr/local/libexec/sparkplan /run/sparkplan /run/lab-* /etc/lab-* /tmp/lab-*
rm -f /etc/sysctl.d/90-sparkplan.conf /etc/sysctl.d/99-lab.conf /etc/profile.d/sparkplan-*
rm -f /etc/security/limits.d/90-sparkplan.conf /etc/security/limits.d/99-lab.conf /etc/nccl.conf /etc/profile.d/zz-lab.sh
find /etc/sysctl.d /etc/profile.d /etc -maxdepth 1 -name '.*.sparkplan-new' -delete
if [ -e /etc/netplan/60-sparkplan-fabric.yaml ]; then
  rm -f /etc/netplan/60-sparkplan-fabric.yaml /run/systemd/network/10-netplan-*
  networkctl reload
fi
for port in enp1s0f1np1 enP2p1s0f1np1 enp1s0f0np0 enP2p1s0f0np0; do
  ip address flush dev $port
  ip link set $port mtu 1500 down
done
sysctl -qw net.core.somaxconn=4096 net.ipv4.tcp_syncookies=1 net.ipv4.tcp_fin_timeout=60 \
  net.ipv4.tcp_keepalive_time=7200 net.ipv4.tcp_keepalive_probes=9 net.ipv4.tcp_keepalive_intvl=75 \
  net.ipv4.tcp_retries2=15
)";

/// Files that cases change and that a reset may not simply remove, because sparkplan does not own them.
const Words& files_to_restore() {
  static const Words files{kHostsFile, "/root/.bashrc", "/home/operator/.bashrc", "/root/.ssh/authorized_keys",
                           "/home/operator/.ssh/authorized_keys"};
  return files;
}

using Originals = std::map<std::string, std::optional<std::string>>;

/// The contents that the files had when the first case of this process used the host.
const Originals& originals_of(const Host& host) {
  static std::map<fs::path, Originals> all;
  auto& originals = all[host.path("/")];
  if (originals.empty()) {
    for (const auto& file : files_to_restore()) originals[file] = host.text(file);
  }
  return originals;
}

}  // namespace

Host::Host(int number, const Lab& lab) : number_(number), lab_(&lab) { reset(); }

void Host::reset() const {
  const auto& originals = originals_of(*this);
  shell(std::string(kResetScript));
  for (const auto& [file, content] : originals) {
    if (text(file) == content) continue;
    if (content) {
      write(file, *content);
    } else {
      remove(file);
    }
  }
}

std::string Host::shell(const std::string& line) const {
  const auto output = run({"sh", "-c", line});
  if (output.exit_status != 0) throw std::runtime_error(name() + ": " + line + ": " + output.standard_error);
  return std::string(trim(output.standard_output));
}

std::string Host::sysctl(const std::string& key) const { return shell("sysctl -n " + key); }

void Host::set_sysctl(const std::string& key, const std::string& value) const {
  shell("sysctl -qw '" + key + "=" + value + "'");
}

std::string Host::sysctl_at_boot(const std::string& key) const {
  const auto config = shell("/lib/systemd/systemd-sysctl --cat-config");
  std::string value;
  for (const auto line : lines_of(config)) {
    const auto equals = line.find('=');
    if (equals != std::string_view::npos && trim(line.substr(0, equals)) == key) value = trim(line.substr(equals + 1));
  }
  return value;
}

std::string Host::login_variable(const std::string& variable, const std::string& user) const {
  return std::string(trim(run({"su", "-l", user, "-c", "printenv " + variable}).standard_output));
}

std::string Host::public_key(const std::string& type) const {
  const auto line = text("/etc/ssh/ssh_host_" + type + "_key.pub").value();
  return line.substr(0, line.find(' ', line.find(' ') + 1));
}

std::string Host::fingerprint(const std::string& type) const {
  const auto line = shell("ssh-keygen -lf /etc/ssh/ssh_host_" + type + "_key.pub");
  return std::string(split(line, ' ').at(1));
}

std::string Host::resolve(const std::string& host) const {
  const auto line = run({"getent", "hosts", host}).standard_output;
  return line.substr(0, line.find(' '));
}

std::optional<std::string> Host::text(const std::string& file) const {
  if (!fs::is_regular_file(path(file))) return std::nullopt;
  std::ifstream stream(path(file), std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

void Host::write(const std::string& file, const std::string& content, unsigned int mode) const {
  fs::create_directories(path(file).parent_path());
  const bool is_new = !fs::exists(path(file));
  std::ofstream(path(file), std::ios::binary) << content;
  if (is_new) fs::permissions(path(file), static_cast<fs::perms>(mode));
}

void Host::append(const std::string& file, const std::string& more) const {
  std::ofstream(path(file), std::ios::binary | std::ios::app) << more;
}

void Host::remove(const std::string& file) const { fs::remove_all(path(file)); }

std::string Host::identity(const std::string& file) const {
  struct stat status {};
  if (::lstat(path(file).c_str(), &status) != 0) return "absent";
  return std::to_string(status.st_ino) + " " + std::to_string(status.st_mtim.tv_sec) + "." +
         std::to_string(status.st_mtim.tv_nsec) + " " + std::to_string(status.st_ctim.tv_sec) + "." +
         std::to_string(status.st_ctim.tv_nsec);
}

std::map<std::string, std::string> Host::tree() const {
  // Logs, login records, and state files of systemd and sudo.
  const std::string left_out =
      R"(\( -path /var/log -o -path /var/lib/systemd -o -path /run/systemd -o -path /run/user -o -path /run/udev )"
      R"(-o -path /run/sudo -o -path /run/log -o -path /run/utmp -o -path /var/lib/sudo -o -path /run/dbus )"
      R"(-o -path /run/motd.dynamic -o -path '/var/tmp/systemd-private-*' -o -path /run/host \) -prune -o )";
  const auto found =
      shell("find /etc /home /root /run /usr /var -xdev " + left_out +
            R"(\( -type d -printf '%p\t%y %m %U:%G\n' -o -printf '%p\t%y %m %U:%G %s %T@ %l\n' \);)"
            " find /etc /home /root /run /usr /var -xdev " +
            left_out + R"(-type f -print0 | xargs -0 sha256sum | sed 's/^\([0-9a-f]*\)  \(.*\)/\2#\t\1/')");
  std::map<std::string, std::string> tree;
  for (const auto line : lines_of(found)) {
    const auto tab = line.find('\t');
    if (tab != std::string_view::npos) tree.emplace(line.substr(0, tab), line.substr(tab + 1));
  }
  return tree;
}

}  // namespace sparkplan::test
