#include "engine/remote/transport/remote_commands.h"

namespace sparkplan {
namespace {

constexpr std::string_view kFolder = "/usr/local/libexec/sparkplan";

/// The compressed program ends with the stream; gzip checks that it is complete, by its checksum and length.
/// In an existing directory, the program and its name survive a crash of the node. A controller that then asks the node
/// for the outcome of a trial need not send the program again.
/// Another controller may install at the same time in the same directory, so the temporary name is unique. The script
/// skips input up to its own marker, because a password that sudo did not need may come first.
/// The script must not contain single quotes: it is passed between them.
constexpr std::string_view kInstallerScript =
    "set -eu; umask 022; directory=/usr/local/libexec/sparkplan; "
    "echo \"SPARKPLAN-ARCHITECTURE $(uname -m)\"; "
    "while IFS= read -r word; do [ \"$word\" = SPARKPLAN-PUT ] && break; done; "
    "[ \"${word:-}\" = SPARKPLAN-PUT ] || exit 66; "
    "[ -d \"$directory\" ] || mkdir -p \"$directory\"; "
    "read -r unique </proc/sys/kernel/random/uuid; temporary=\"$directory/.$name.$unique\"; "
    "trap \"rm -f -- $temporary\" EXIT; "
    "gzip -dc >\"$temporary\" || exit 65; "
    "chmod 0755 \"$temporary\"; sync \"$temporary\"; mv -f \"$temporary\" \"$directory/$name\"; "
    "sync \"$directory\"; trap - EXIT; echo SPARKPLAN-INSTALLED";

/// As ssh-copy-id does it: the last existing line may lack its newline, and SELinux needs its labels.
constexpr std::string_view kKeyInstallerScript =
    "set -eu; umask 077; cd; IFS= read -r key; [ -n \"$key\" ] || exit 66; mkdir -p .ssh; "
    "file=.ssh/authorized_keys; [ -e \"$file\" ] || : >\"$file\"; "
    "if ! grep -qxF -e \"$key\" \"$file\"; then "
    "[ -z \"$(tail -c 1 \"$file\")\" ] || echo >>\"$file\"; printf \"%s\\n\" \"$key\" >>\"$file\"; fi; "
    "if command -v restorecon >/dev/null 2>&1; then restorecon .ssh \"$file\" || :; fi";

/// The file's name in kFolder.
std::string_view file_name(RemoteProgram program) {
  switch (program) {
    case RemoteProgram::kNcclRank:
    case RemoteProgram::kNcclInstaller:
      return "sparkplan-nccl";
    case RemoteProgram::kJob:
    case RemoteProgram::kJobInstaller:
      return "sparkplan-job";
    case RemoteProgram::kCopy:
    case RemoteProgram::kCopyInstaller:
      return "sparkplan-copy";
    case RemoteProgram::kAgent:
    case RemoteProgram::kInstaller:
    case RemoteProgram::kKeyInstaller:
      break;
  }
  return "agent";
}

bool is_installer(RemoteProgram program) {
  return program == RemoteProgram::kInstaller || program == RemoteProgram::kNcclInstaller ||
         program == RemoteProgram::kJobInstaller || program == RemoteProgram::kCopyInstaller;
}

std::string elevated(Elevation elevation) {
  switch (elevation) {
    case Elevation::kSudo:
      return "sudo -n -- ";
    case Elevation::kSudoPassword:
      return "sudo -S -p " + std::string(kSudoPrompt) + " -- ";
    case Elevation::kNone:
      break;
  }
  return "";
}

}  // namespace

std::string program_file(RemoteProgram program) { return std::string(kFolder) + "/" + std::string(file_name(program)); }

std::string remote_command(RemoteProgram program, Elevation elevation) {
  if (program == RemoteProgram::kKeyInstaller) return "exec /bin/sh -c '" + std::string(kKeyInstallerScript) + "'";
  const std::string name(file_name(program));
  if (is_installer(program)) {
    return "exec " + elevated(elevation) + "/bin/sh -c 'name=" + name + "; " + std::string(kInstallerScript) + "'";
  }
  const auto path = program_file(program);
  // sudo returns 1 both for "no such command" and for "a password is required", with a message in the machine's
  // language. So the existence of the program is tested first.
  return "test -x " + path + " || exit 127; exec " + elevated(elevation) + path + " --stdio";
}

}  // namespace sparkplan
