#pragma once

#include <string>

#include "tests/integration/lab/host.h"

/// Hosts that send or receive one directory.
namespace sparkplan::test {

inline const std::string kTree = "/srv/models/tiny";
inline const std::string kFile =
    "fabric: {topology: switch, port: 1}\n"
    "models: [{path: /srv/models/tiny, from: spark-01}]\n";

/// Hosts without the directory, before a case and after it.
class SyncedHost {
 public:
  explicit SyncedHost(int number) : host_(number) { clean(); }
  SyncedHost(const SyncedHost&) = delete;
  SyncedHost& operator=(const SyncedHost&) = delete;
  ~SyncedHost() { clean(); }
  const Host* operator->() const { return &host_; }
  /// Names, modes, owners, link targets and digests of everything in the directory.
  std::string digest() const {
    return host_.shell("cd " + kTree +
                       " && { find . -printf '%p %y %m %u %l\\n'; find . -type f -exec sha256sum {} +; } "
                       "| LC_ALL=C sort | sha256sum");
  }

 private:
  void clean() const { host_.shell("rm -rf /srv/models"); }
  Host host_;
};

inline void make_tree(const SyncedHost& host) {
  host->shell("mkdir -p " + kTree + "/sub && cd " + kTree +
              " && head -c 30000000 /dev/urandom > large && printf text > sub/small && ln -s ../large sub/link"
              " && chmod 640 sub/small && chown operator sub/small");
}

}  // namespace sparkplan::test
