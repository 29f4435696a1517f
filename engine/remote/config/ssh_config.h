#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"

namespace sparkplan {

struct SshConfigText;

/// One setting of an ssh_config file.
struct SshConfigLine {
  std::size_t number = 0;               ///< From 1.
  std::string keyword;                  ///< In lower case.
  std::string written;                  ///< The keyword as in the file.
  std::vector<std::string> arguments;   ///< Without quotes. Of a keyword that is not used: the rest of the line.
  std::vector<SshConfigText> included;  ///< Of Include: the files, in their order.
};

/// An ssh_config file with the files that it includes.
struct SshConfigText {
  std::string name;  ///< As messages show it: "~/.ssh/config".
  std::vector<SshConfigLine> lines;
};

/// The files that OpenSSH would read: the user's, then the system's.
struct SshConfig {
  std::vector<SshConfigText> files;
};

/// Pure. The settings of one file, in their order; Include lines have no files yet. sparkplan uses Host, Match,
/// Include, HostName, User, Port, IdentityFile, IdentitiesOnly, IdentityAgent, ProxyJump, HostKeyAlias and
/// UserKnownHostsFile. Errors: kInvalidInput, with the file and the line. Source: ssh_config(5); OpenSSH 9.6,
/// readconf.c and misc.c.
Result<std::vector<SshConfigLine>> parse_ssh_config(std::string_view text, const std::string& name);

/// "~/.ssh/config:12"
std::string place_of(const SshConfigText& file, const SshConfigLine& line);

}  // namespace sparkplan
