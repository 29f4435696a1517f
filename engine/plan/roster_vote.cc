// The vote of the manifests on the roster.
#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "engine/core/text.h"
#include "engine/plan/roster.h"

namespace sparkplan {
namespace {

/// A node of the file and the roster in its manifest.
struct Vote {
  std::string node;
  const Roster* roster;
};

/// Nodes with one roster object. A thousand nodes mostly share one, so it is read once.
struct Ballot {
  const Roster* roster;
  std::vector<std::string> nodes;
};

/// A member as `weight` nodes record it.
struct RecordedEntry {
  const RosterEntry* entry;
  std::size_t weight;
};

bool is_majority(std::size_t votes, std::size_t of) { return votes * 2 > of; }

/// The value of more than half of `of` voters; nothing without one. `given` has pairs of a value and its votes.
template <class T>
std::optional<T> majority_of(const std::vector<std::pair<T, std::size_t>>& given, std::size_t of) {
  std::map<T, std::size_t> counts;
  for (const auto& [value, weight] : given) {
    if (is_majority(counts[value] += weight, of)) return value;
  }
  return std::nullopt;
}

std::vector<Ballot> count_once(const std::vector<Vote>& votes) {
  std::vector<Ballot> ballots;
  std::map<const Roster*, std::size_t> places;
  for (const Vote& vote : votes) {
    const auto [place, is_new] = places.emplace(vote.roster, ballots.size());
    if (is_new) ballots.push_back({vote.roster, {}});
    ballots[place->second].nodes.push_back(vote.node);
  }
  return ballots;
}

/// The field's value in more than half of all manifests, else its default.
template <class T>
void agree_on_field(RosterEntry& agreed, const std::vector<RecordedEntry>& entries, std::size_t of,
                    T RosterEntry::*field) {
  std::vector<std::pair<T, std::size_t>> given;
  for (const auto& [entry, weight] : entries) given.emplace_back(entry->*field, weight);
  if (auto value = majority_of(given, of)) agreed.*field = std::move(*value);
}

RosterEntry agree_on_member(const std::string& name, const std::vector<RecordedEntry>& entries, std::size_t of) {
  RosterEntry agreed;
  agreed.name = name;
  agreed.port = 0;
  agree_on_field(agreed, entries, of, &RosterEntry::id);
  agree_on_field(agreed, entries, of, &RosterEntry::address);
  agree_on_field(agreed, entries, of, &RosterEntry::user);
  agree_on_field(agreed, entries, of, &RosterEntry::port);
  agree_on_field(agreed, entries, of, &RosterEntry::host_key);
  agree_on_field(agreed, entries, of, &RosterEntry::machine_id);
  agree_on_field(agreed, entries, of, &RosterEntry::jump);
  agree_on_field(agreed, entries, of, &RosterEntry::become);
  agree_on_field(agreed, entries, of, &RosterEntry::root);
  agree_on_field(agreed, entries, of, &RosterEntry::leaving);
  return agreed;
}

std::string named(const Vote& vote) {
  return vote.node + " (" + printable(vote.roster->cluster) + ", " + printable(vote.roster->uuid) + ")";
}

/// The highest generation that more than half of the manifests have reached.
std::int64_t agree_on_generation(const std::vector<Vote>& votes) {
  std::vector<std::int64_t> generations;
  for (const Vote& vote : votes) generations.push_back(vote.roster->generation);
  std::sort(generations.begin(), generations.end(), std::greater<>());
  return generations[generations.size() / 2];
}

bool same_members(const Roster* a, const Roster* b) { return a == b || a->members == b->members; }

/// The list of members that more than half of the manifests have in identical form; null without one. With one, a
/// decision member by member gives the same result. It takes a thousand times as long for a thousand nodes.
const std::vector<RosterEntry>* members_of_most(const std::vector<Vote>& votes) {
  const Roster* candidate = nullptr;
  std::size_t lead = 0;  // Boyer and Moore: a majority outlasts all others.
  for (const Vote& vote : votes) {
    if (lead == 0) candidate = vote.roster;
    lead = same_members(vote.roster, candidate) ? lead + 1 : lead - 1;
  }
  const auto agree = static_cast<std::size_t>(std::count_if(
      votes.begin(), votes.end(), [&](const Vote& vote) { return same_members(vote.roster, candidate); }));
  return is_majority(agree, votes.size()) ? &candidate->members : nullptr;
}

void agree_on_members(const std::vector<Ballot>& ballots, std::size_t votes, Roster& agreed) {
  // Member -> the rosters that list it, each once.
  std::map<std::string, std::map<const Roster*, RecordedEntry>> listed;
  for (const Ballot& ballot : ballots) {
    for (const RosterEntry& member : ballot.roster->members) {
      listed[member.name].emplace(ballot.roster, RecordedEntry{&member, ballot.nodes.size()});
    }
  }
  for (const auto& [name, by_roster] : listed) {
    std::vector<RecordedEntry> entries;
    std::size_t listing = 0;
    for (const auto& [roster, recorded] : by_roster) {
      entries.push_back(recorded);
      listing += recorded.weight;
    }
    if (is_majority(listing, votes)) agreed.members.push_back(agree_on_member(name, entries, votes));
  }
}

/// Uuids that may be the cluster's: the one of more than half of the votes, else the most frequent ones.
std::vector<std::string> candidates_for_uuid(const std::vector<Vote>& votes) {
  constexpr std::size_t kMostCandidates = 4;
  std::map<std::string, std::size_t> counts;
  for (const Vote& vote : votes) ++counts[vote.roster->uuid];
  std::vector<std::pair<std::string, std::size_t>> by_votes(counts.begin(), counts.end());
  std::ranges::stable_sort(by_votes, std::greater<>(), &std::pair<std::string, std::size_t>::second);
  const bool has_majority = !by_votes.empty() && is_majority(by_votes.front().second, votes.size());
  by_votes.resize(std::min(by_votes.size(), has_majority ? 1 : kMostCandidates));
  std::vector<std::string> uuids;
  for (auto& [uuid, count] : by_votes) uuids.push_back(std::move(uuid));
  return uuids;
}

/// The rosters of the cluster with this uuid: those that name it, and those that half of these belong to one cluster
/// with. An apply that reads none of the members makes such a roster.
std::set<const Roster*> rosters_of(const std::string& uuid, const std::vector<Ballot>& ballots) {
  std::size_t founders = 0;
  for (const Ballot& ballot : ballots) {
    if (ballot.roster->uuid == uuid) founders += ballot.nodes.size();
  }
  std::set<const Roster*> rosters;
  for (const Ballot& ballot : ballots) {
    std::size_t agreeing = 0;
    for (const Ballot& founder : ballots) {
      const bool counts = founder.roster->uuid == uuid && is_one_cluster(*ballot.roster, *founder.roster);
      if (counts) agreeing += founder.nodes.size();
    }
    if (agreeing * 2 >= founders) rosters.insert(ballot.roster);
  }
  return rosters;
}

/// A uuid, and the rosters of its cluster.
struct Candidate {
  std::string uuid;
  std::set<const Roster*> rosters;
  std::size_t votes = 0;
};

/// The candidate of most votes. One manifest may deny another one; it then has fewer votes than the others.
Candidate best_candidate(const std::vector<Vote>& votes) {
  Candidate best;
  const std::vector<Ballot> ballots = count_once(votes);
  for (std::string& uuid : candidates_for_uuid(votes)) {
    Candidate one{std::move(uuid), {}, 0};
    one.rosters = rosters_of(one.uuid, ballots);
    one.votes = static_cast<std::size_t>(
        std::ranges::count_if(votes, [&](const Vote& vote) { return one.rosters.contains(vote.roster); }));
    if (one.votes > best.votes) best = std::move(one);
  }
  return best;
}

/// Removes the votes for clusters other than the majority's from `votes`, and returns the majority's uuid.
std::string refuse_other_clusters(std::vector<Vote>& votes, AgreedRoster& agreed) {
  constexpr auto kHint =
      "release the node with the cluster.yaml of its own cluster, or with a copy of this file that names only this "
      "node";
  const auto refuse = [&](const Vote& vote, std::string why) {
    agreed.refused.emplace(vote.node, make_error(ErrorCode::kRefused, std::move(why), kHint));
  };
  const Candidate ours = best_candidate(votes);
  if (!is_majority(ours.votes, votes.size())) {
    std::vector<std::string> names;
    for (const Vote& vote : votes) names.push_back(named(vote));
    for (const Vote& vote : votes) refuse(vote, "no cluster has a majority among " + join(names, ", "));
    votes.clear();
    return {};
  }
  for (const Vote& vote : votes) {
    if (!ours.rosters.contains(vote.roster))
      refuse(vote, "its manifest names another cluster than those of most nodes: " + named(vote));
  }
  std::erase_if(votes, [&](const Vote& vote) { return !ours.rosters.contains(vote.roster); });
  return ours.uuid;
}

std::vector<UnsupportedMember> unsupported_members(const std::vector<Ballot>& ballots, const Roster& agreed) {
  std::set<std::string_view> supported;
  for (const RosterEntry& member : agreed.members) supported.insert(member.name);
  std::map<std::string, std::set<std::string>> listed_by;
  for (const auto& [roster, nodes] : ballots) {
    // An older roster may list members that have left since, so it is not counted.
    if (roster->generation < agreed.generation) continue;
    for (const RosterEntry& member : roster->members) {
      if (!supported.contains(member.name)) listed_by[member.name].insert(nodes.begin(), nodes.end());
    }
  }
  std::vector<UnsupportedMember> unsupported;
  for (const auto& [name, nodes] : listed_by) unsupported.push_back({name, {nodes.begin(), nodes.end()}});
  return unsupported;
}

}  // namespace

AgreedRoster agree_on_roster(const Rosters& rosters) {
  AgreedRoster agreed;
  std::vector<Vote> votes;
  for (const auto& [node, roster] : rosters) {
    if (roster != nullptr && !roster->uuid.empty()) votes.push_back({node, roster});
  }
  agreed.roster.uuid = refuse_other_clusters(votes, agreed);
  if (votes.empty()) return agreed;
  for (const Vote& vote : votes) ++agreed.uuids[vote.roster->uuid];
  agreed.manifests = votes.size();
  agreed.roster.cluster = votes.front().roster->cluster;
  agreed.roster.generation = agree_on_generation(votes);
  const std::vector<Ballot> ballots = count_once(votes);
  if (const auto* members = members_of_most(votes)) {
    agreed.roster.members = *members;
  } else {
    agree_on_members(ballots, votes.size(), agreed.roster);
  }
  sort_members(agreed.roster);
  agreed.unsupported = unsupported_members(ballots, agreed.roster);
  return agreed;
}

}  // namespace sparkplan
