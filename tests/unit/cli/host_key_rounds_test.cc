// The rounds in which init asks for unknown host keys.
#include "engine/cli/discovery/host_key_rounds.h"

#include <map>
#include <mutex>
#include <set>

#include "tests/support/catch.h"

namespace sparkplan {
namespace {

using Standing = OfferedHostKey::Standing;
using Round = std::vector<std::string>;

SshWay way_through(const std::vector<std::string>& addresses) {
  SshWay way;
  for (const std::string& address : addresses) {
    SshStation station;
    station.name = address;
    station.address = address;
    station.is_jump_host = &address != &addresses.back();
    way.stations.push_back(std::move(station));
  }
  return way;
}

/// Machines that show a key only through jump hosts whose keys are recorded, and a user who confirms.
struct RoundMachines {
  std::set<std::string> recorded = {};
  std::map<std::string, Standing> standing = {};  ///< Of a key that is not unknown.
  std::size_t confirmed_rounds = 9;               ///< The user refuses the next one.
  std::vector<Round> rounds = {};
  bool can_record = true;
  std::mutex mutex = {};

  Result<OfferedHostKey> offered(const SshWay& way, std::size_t at) {
    const std::lock_guard lock(mutex);
    for (std::size_t i = 0; i < at; ++i) {
      if (!recorded.contains(way.stations[i].address)) return failure(ErrorCode::kUntrusted, "the host key is unknown");
    }
    OfferedHostKey key{};
    key.known_hosts_line = way.stations[at].address;
    key.standing = recorded.contains(key.known_hosts_line) ? Standing::kKnown : Standing::kUnknown;
    if (const auto found = standing.find(key.known_hosts_line); found != standing.end()) key.standing = found->second;
    return key;
  }

  Result<bool> settle(const std::vector<SshWay>& ways) {
    HostKeySteps steps;
    steps.offered = [&](const SshWay& way, std::size_t at) { return offered(way, at); };
    steps.confirm = [&](const std::vector<UnknownHostKey>& keys) {
      Round round;
      for (const UnknownHostKey& one : keys) round.push_back(one.subject());
      rounds.push_back(round);
      return rounds.size() <= confirmed_rounds;
    };
    steps.record = [&](const OfferedHostKey& key) -> Result<void> {
      if (!can_record) return failure(ErrorCode::kPermissionDenied, "write known_hosts");
      recorded.insert(key.known_hosts_line);
      return {};
    };
    return settle_in_rounds(ways, 4, steps);
  }
};

}  // namespace

TEST_CASE("init: a machine behind another one is asked for in the round after it, on the same run") {
  RoundMachines machines;
  CHECK(machines.settle({way_through({"n1"}), way_through({"n2"}), way_through({"n1", "n3"})}) == true);
  CHECK(machines.rounds == std::vector<Round>{{"n1", "n2"}, {"n3"}});
  CHECK(machines.recorded == std::set<std::string>{"n1", "n2", "n3"});
}

TEST_CASE("init: a jump host that is no machine of the file is asked for as a jump host, once for all behind it") {
  RoundMachines machines;
  CHECK(machines.settle({way_through({"gate", "n1"}), way_through({"gate", "n2"})}) == true);
  CHECK(machines.rounds == std::vector<Round>{{"jump host gate"}, {"n1", "n2"}});
}

TEST_CASE("init: a machine that is also a jump host is named as the machine, in any order") {
  RoundMachines machines;
  CHECK(machines.settle({way_through({"n1", "n3"}), way_through({"n1"})}) == true);
  CHECK(machines.rounds == std::vector<Round>{{"n1"}, {"n3"}});
}

TEST_CASE("init: known keys ask nothing, and hide no unknown key behind them") {
  RoundMachines machines;
  machines.recorded = {"gate"};
  CHECK(machines.settle({way_through({"gate"}), way_through({"gate", "n1"})}) == true);
  CHECK(machines.rounds == std::vector<Round>{{"n1"}});
  CHECK(machines.settle({way_through({"gate", "n1"})}) == true);
  CHECK(machines.rounds.size() == 1);
}

TEST_CASE("init: no key is asked for behind one that is changed or revoked") {
  for (const Standing standing : {Standing::kChanged, Standing::kRevoked, Standing::kPinMismatch}) {
    RoundMachines machines;
    machines.recorded = {"gate"};
    machines.standing = {{"gate", standing}};
    CHECK(machines.settle({way_through({"gate", "n1"}), way_through({"n2"})}) == true);
    CHECK(machines.rounds == std::vector<Round>{{"n2"}});
  }
}

TEST_CASE("init: after a no, nothing more is recorded or asked") {
  RoundMachines machines;
  machines.confirmed_rounds = 1;
  CHECK(machines.settle({way_through({"gate", "inner", "n1"})}) == false);
  CHECK(machines.rounds == std::vector<Round>{{"jump host gate"}, {"jump host inner"}});
  CHECK(machines.recorded == std::set<std::string>{"gate"});
}

TEST_CASE("init: a key that cannot be recorded ends the rounds") {
  RoundMachines machines;
  machines.can_record = false;
  const auto settled = machines.settle({way_through({"gate", "n1"})});
  REQUIRE_FALSE(settled);
  CHECK(settled.error().code == ErrorCode::kPermissionDenied);
  CHECK(machines.rounds.size() == 1);
}

}  // namespace sparkplan
