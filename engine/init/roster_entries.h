#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/init/members.h"
#include "engine/model/manifest.h"
#include "engine/plan/roster.h"
#include "engine/resource/registry.h"

namespace sparkplan {

/// The entries of the agreed roster that no file may have, each with the reason. One machine's manifest may be the only
/// one, and must not keep the others from their file.
class EntriesLeftOut {
 public:
  void add(const RosterEntry& entry, const std::string& why);
  bool empty() const { return names_.empty(); }
  /// A warning for each set of machines whose manifests list the same entries. `rosters` is by machine.
  std::vector<Diagnostic> remarks(const Rosters& rosters) const;

 private:
  std::map<std::string, std::string> names_;  ///< Name -> reason.
};

/// Pure. Removes the entries that cannot be a node of a file: those with a reserved name, an id that no node may have,
/// or the name of an earlier entry.
void leave_out_impossible(Roster& roster, EntriesLeftOut& left_out);

/// Pure. The nodes of `unread`, each without a machine, that a file may have beside `nodes`. An id of 0 stays.
std::vector<Member> loadable_beside(const std::vector<Member>& nodes, const std::vector<RosterEntry>& unread,
                                    const Registry& registry, EntriesLeftOut& left_out);

}  // namespace sparkplan
