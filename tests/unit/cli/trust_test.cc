// The refusals of `sparkplan trust`.
#include "engine/cli/commands/trust_command.h"

#include "tests/support/catch.h"
#include "tests/unit/cli/program.h"

namespace sparkplan {
namespace {

using Standing = OfferedHostKey::Standing;

Error refusal(Standing standing) {
  OfferedHostKey key;
  key.fingerprint = "SHA256:abc";
  key.type = "ssh-ed25519";
  key.known_hosts_line = "10.0.0.11 ssh-ed25519 AAAA";
  key.standing = standing;
  SshStation station;
  station.node = "spark-01";
  station.address = "10.0.0.11";
  return why_not_recorded(key, station, "cluster.yaml");
}

using test::contains;

}  // namespace

TEST_CASE("trust: the hint for a changed key removes the old one") {
  CHECK(refusal(Standing::kChanged).code == ErrorCode::kUntrusted);
  CHECK(contains(refusal(Standing::kChanged).hint, "ssh-keygen -R 10.0.0.11"));
}

TEST_CASE("trust: the hint for a revoked key does not remove the mark as if the key had changed") {
  const Error error = refusal(Standing::kRevoked);
  CHECK(error.code == ErrorCode::kUntrusted);
  CHECK(contains(error.message, "@revoked"));
  CHECK(contains(error.hint, "new host keys"));
  CHECK_FALSE(contains(error.hint, "ssh-keygen -R"));
}

TEST_CASE("trust: the hint for a key that is not the pinned one names the pin") {
  const Error error = refusal(Standing::kPinMismatch);
  CHECK(error.code == ErrorCode::kUntrusted);
  CHECK(contains(error.message, "cluster.yaml pins another key"));
  CHECK(contains(error.hint, "`host_key` in cluster.yaml"));
  CHECK_FALSE(contains(error.hint, "ssh-keygen -R"));
}

}  // namespace sparkplan
