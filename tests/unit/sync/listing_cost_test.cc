// The memory that a node takes from the controller of a `sync` by the largest tree that it may list.
#include <algorithm>
#include <memory>
#include <string>
#include <variant>

#include "tests/support/catch.h"
#include "tests/unit/process/cost.h"
#include "tests/unit/sync/sync_bench.h"

namespace sparkplan {
namespace {

const std::string kWeights = "0-weights";

CopyEntry weights_with(const std::string& sum) {
  CopyEntry entry;
  entry.path = kWeights;
  entry.size = 1;
  entry.mode = 0644;
  entry.sum = sum;
  return entry;
}

/// The entries from `at` on: links, with texts that are too long for their object, as far as the bytes of names last.
CopyEntries part_of_largest_tree(std::size_t at) {
  constexpr std::size_t kLength = 25;
  constexpr std::size_t kRest = kMostCopyNameBytes / kMostCopyEntries - 3 * kLength;
  CopyEntries part;
  for (std::size_t i = at; i < std::min(at + kMostEntriesInFrame, kMostCopyEntries); ++i) {
    CopyEntry& entry = part.entries.emplace_back();
    entry.path = std::to_string(1'000'000 + i);
    entry.path.resize(kLength, 'p');
    entry.kind = CopyKind::kLink;
    for (std::string* text : {&entry.user, &entry.group}) text->assign(kLength, 't');
    entry.target.assign(kRest, 't');
    entry.sum = test::kFirst;
  }
  return part;
}

/// Lists the largest tree, one part after the other, each time that it is asked. Before it reads, it knows no sum of
/// the file that the source has, too.
test::CopyReaction that_lists_the_largest_tree() {
  return [](const CopyCommand& command, test::Peer& self) {
    if (std::holds_alternative<CopyOpen>(command)) {
      CopyOpened opened;
      opened.exists = true;
      test::say(self, opened);
    }
    const auto* look = std::get_if<CopyLook>(&command);
    if (look == nullptr) return;
    test::say(self, CopyEntries{{weights_with(look->read ? test::kFirst : "")}});
    self.on_read = [at = std::make_shared<std::size_t>(1)](test::Peer& peer) {
      if (!peer.output.empty() || *at > kMostCopyEntries) return;
      if (*at == kMostCopyEntries) {
        test::say(peer, CopyLooked{});
      } else {
        test::say(peer, part_of_largest_tree(*at));
      }
      *at = *at == kMostCopyEntries ? *at + 1 : std::min(*at + kMostEntriesInFrame, kMostCopyEntries);
    };
  };
}

}  // namespace

TEST_CASE("sync run: a node that lists the largest tree, and again after it has read, costs less than 100 MB") {
  test::Bench bench(2);
  bench.declare("models", Value::map({{"path", "/srv/models/one"}, {"from", "n1"}}));
  bench.nodes[0].reaction = test::that_lists({weights_with(test::kFirst)});
  bench.nodes[1].reaction = that_lists_the_largest_tree();
  bench.options.dry_run = true;
  const auto cost = test::cost_of([&] {
    const auto report = bench.run();
    const ContentOfNode& node = report.items.at(0).nodes.at(1);
    const auto looks = bench.nodes[1].all<CopyLook>();
    return !node.error && node.status == ContentStatus::kPresent && looks.size() == 2 && looks.back().read;
  });
  CHECK(cost.exit_status == 0);
  CHECK(cost.megabytes < 100);
}

}  // namespace sparkplan
