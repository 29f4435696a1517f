#include "engine/sync/comparison.h"

#include <limits>

#include "tests/support/catch.h"

namespace sparkplan {
namespace {

CopyEntry file(const std::string& path, std::int64_t size, const std::string& sum) {
  CopyEntry entry;
  entry.path = path;
  entry.size = size;
  entry.mode = 0644;
  entry.user = "nvidia";
  entry.group = "nvidia";
  entry.sum = sum;
  return entry;
}

Listing listing(std::vector<CopyEntry> entries) {
  Listing made;
  made.exists = true;
  made.entries = std::move(entries);
  return made;
}

}  // namespace

TEST_CASE("content: equal digests are in sync, whatever else the node has") {
  const auto source = listing({file("a", 10, "1"), file("b", 20, "2")});
  const auto node = listing({file("a", 10, "1"), file("b", 20, "2"), file("own", 5, "")});
  const auto found = compare_listings(source, node, "");
  CHECK(found.in_sync());
  CHECK(found.bytes_to_send() == 0);
}

TEST_CASE("content: a removed file is a change while the source has it, and without `from` while any node has it") {
  const std::vector<std::string> changed{"on-both", "on-neither", "on-the-node", "on-the-source"};
  const auto source = listing({file("on-both", 1, "1"), file("on-the-source", 1, "1")});
  auto node = listing({file("on-both", 1, "2"), file("on-the-node", 1, "1")});
  node.changed = changed;
  const std::vector<std::string> kept{"on-both", "on-the-node", "on-the-source"};
  const std::vector<NamedListing> two{{"n1", &source}, {"n2", &node}, {"n3", nullptr}};
  CHECK(changed_files(two, 0, 1, true) == kept);
  CHECK(changed_files(two, 0, 1, false) == kept);
  // Without `from`, a node becomes the source by the bytes that it claims, and must not hide what another one has.
  const auto third = listing({file("on-neither", 1, "1")});
  const std::vector<NamedListing> three{{"n1", &source}, {"n2", &node}, {"n3", &third}};
  CHECK(changed_files(three, 0, 1, true) == kept);
  CHECK(changed_files(three, 0, 1, false) == changed);
}

TEST_CASE("content: missing files are counted with their bytes") {
  const auto found = compare_listings(listing({file("a", 10, "1"), file("b", 20, "2")}), Listing(), "");
  CHECK(found.missing == std::vector<std::string>{"a", "b"});
  CHECK(found.missing_bytes == 30);
  CHECK_FALSE(found.in_sync());
}

TEST_CASE("content: of the missing bytes, those in unfinished files are not to be sent, whatever a node claims") {
  const auto source = listing({file("a", 10, "1"), file("b", 20, "2"), file("c", 5, "3")});
  auto node = listing({file("c", 5, "x")});
  CHECK(compare_listings(source, node, "").unfinished_bytes == 0);
  node.partial_bytes = 25;
  const auto found = compare_listings(source, node, "");
  CHECK(found.missing_bytes == 30);
  CHECK(found.unfinished_bytes == 25);
  CHECK(found.bytes_to_send() == 10);
  node.partial_bytes = std::numeric_limits<std::int64_t>::max();
  CHECK(compare_listings(source, node, "").bytes_to_send() == 5);
  // Unfinished files of another tree, or of a file that differs.
  CHECK(compare_listings(listing({file("c", 5, "3")}), node, "").unfinished_bytes == 0);
}

TEST_CASE("content: of a source's names, few are kept for each node, and all are counted") {
  std::vector<CopyEntry> entries;
  for (int i = 1000; i < 4000; ++i) entries.push_back(file("f" + std::to_string(i), 1, "1"));
  const auto many = compare_listings(listing(entries), Listing(), "");
  CHECK(many.missing.size() == 3000);
  CHECK(many.missing.is_cut());
  CHECK(many.missing.kept().size() == NameList::kMostKept);
  for (CopyEntry& entry : entries) entry.path += std::string(4000, 'x');
  const auto longs = compare_listings(listing(entries), Listing(), "");
  CHECK(longs.missing.size() == 3000);
  CHECK(longs.missing.kept().size() < 300);
  CHECK(longs.missing_bytes == 3000);
}

TEST_CASE("content: names are compared in their order, also where each list has names that the other lacks") {
  const auto source = listing({file("a", 1, "1"), file("c", 1, "1"), file("c-d", 1, "1"), file("e", 1, "1")});
  const auto node = listing({file("b", 1, "1"), file("c", 1, "1"), file("d", 1, "1"), file("e", 1, "x")});
  const auto found = compare_listings(source, node, "");
  CHECK(found.missing == std::vector<std::string>{"a", "c-d"});
  CHECK(found.differing == std::vector<std::string>{"e"});
  const auto other = listing({file("c-d", 1, "1"), file("z", 1, "1")});
  const std::vector<NamedListing> all{{"n1", &node, true}, {"n2", &source}, {"n3", &other}};
  CHECK(unshared_files(all, 1, false, false) == std::vector<std::string>{"a", "e"});
  CHECK(outvoted_files(all, 1).names.empty());
}

TEST_CASE(
    "content: after a yes, a name vouches for a file only on nodes of the question, and if no other node lacks it") {
  const auto source = listing({file("a", 1, "1"), file("only", 1, "1")});
  const auto old = listing({file("a", 1, "x")});
  const Listing none;
  const auto own = [&](const std::vector<NamedListing>& all) { return unshared_files(all, 0, true, false); };
  CHECK(own({{"n1", &source}, {"n2", &old, true}, {"n3", nullptr}}) == std::vector<std::string>{"only"});
  CHECK(own({{"n1", &source}, {"n2", &old, true}, {"n3", &none}}) == std::vector<std::string>{"a", "only"});
  CHECK(own({{"n1", &source}, {"n2", &old, false}}) == std::vector<std::string>{"a", "only"});
  // Another node has the same content.
  CHECK(own({{"n1", &source}, {"n2", &old, true}, {"n3", &none}, {"n4", &source}}).empty());
}

TEST_CASE("content: a file of the source alone is outvoted if two other nodes agree on another version of it") {
  const auto source = listing({file("a", 9, "1"), file("b", 9, "1"), file("c", 9, "1"), file("d", 9, "1")});
  const auto second = listing({file("a", 5, "x"), file("b", 5, "x"), file("c", 9, "1"), file("d", 5, "")});
  const auto third = listing({file("a", 5, "x"), file("b", 5, "y"), file("c", 5, "x"), file("d", 5, "x")});
  const auto fourth = listing({file("a", 5, "x"), file("c", 5, "x")});
  const std::vector<NamedListing> all{{"n1", &source}, {"n2", &second}, {"n3", &third}, {"n4", &fourth}, {"n5"}};
  const auto found = outvoted_files(all, 0);
  CHECK(found.names == std::vector<std::string>{"a", "d"});
  CHECK(found.agreeing == 3);
  CHECK(found.by_size);
  CHECK(outvoted_files({{"n1", &source}, {"n2", &second}}, 0).names.empty());
}

TEST_CASE("content: a file of equal size that no node has read is not outvoted") {
  const auto unread = listing({file("a", 9, "")});
  const auto known = listing({file("a", 9, "x")});
  CHECK(outvoted_files({{"n1", &unread}, {"n2", &unread}, {"n3", &unread}}, 0).names.empty());
  CHECK(outvoted_files({{"n1", &unread}, {"n2", &known}, {"n3", &known}}, 0).names.empty());
  CHECK(outvoted_files({{"n1", &known}, {"n2", &unread}, {"n3", &unread}}, 0).names.empty());
}

TEST_CASE("content: another size or digest is other content, an unknown digest is unread") {
  const auto source = listing({file("digest", 10, "1"), file("size", 20, "2"), file("unread", 30, "3")});
  const auto node = listing({file("digest", 10, "x"), file("size", 21, "2"), file("unread", 30, "")});
  const auto found = compare_listings(source, node, "");
  CHECK(found.differing == std::vector<std::string>{"digest", "size"});
  CHECK(found.unread == std::vector<std::string>{"unread"});
  CHECK(found.unread_bytes == 30);
}

TEST_CASE("content: a link in the place of a file is other content") {
  auto link = file("a", 0, "");
  link.kind = CopyKind::kLink;
  link.target = "b";
  CHECK(compare_listings(listing({file("a", 10, "1")}), listing({link}), "").differing ==
        std::vector<std::string>{"a"});
}

TEST_CASE("content: the declared owner counts, otherwise the source's") {
  const auto source = listing({file("a", 10, "1")});
  auto other = file("a", 10, "1");
  other.user = "root";
  CHECK(compare_listings(source, listing({other}), "").properties == std::vector<std::string>{"a"});
  CHECK(compare_listings(source, listing({other}), "root").in_sync());
}

TEST_CASE("content: rights other than on every other node are the source's alone, also those of a directory") {
  auto folder = file("sub", 0, "");
  folder.kind = CopyKind::kDirectory;
  folder.mode = 0755;
  const auto usual = listing({file("a", 10, "1"), folder});
  const auto own_of = [&](int file_mode, int folder_mode, const std::string& user, bool owner_is_declared) {
    auto source = usual;
    source.entries[0].mode = file_mode;
    source.entries[0].user = user;
    source.entries[1].mode = folder_mode;
    return unshared_files({{"n1", &source}, {"n2", &usual}}, 0, false, owner_is_declared);
  };
  CHECK(own_of(0644, 0755, "nvidia", false).empty());
  CHECK(own_of(0600, 0755, "nvidia", false) == std::vector<std::string>{"a (with other rights)"});
  CHECK(own_of(0, 0755, "nvidia", true) == std::vector<std::string>{"a (with other rights)"});
  CHECK(own_of(0644, 0700, "nvidia", true) == std::vector<std::string>{"sub (with other rights)"});
  CHECK(own_of(0666, 0755, "nvidia", false) == std::vector<std::string>{"a (writable by more users)"});
  CHECK(own_of(0644, 0777, "nvidia", true) == std::vector<std::string>{"sub (writable by more users)"});
  CHECK(own_of(0644, 0755, "mallory", false) == std::vector<std::string>{"a (of another owner)"});
  CHECK(own_of(0644, 0755, "mallory", true).empty());
}

TEST_CASE("content: the tree's own directory counts if a node would get it with rights that no other node gives") {
  auto source = listing({file("a", 10, "1")});
  source.root = CopyRoot{0777, 0, "nvidia", "nvidia"};
  auto usual = source;
  usual.root->mode = 0755;
  const Listing none;
  const std::vector<std::string> named{". (writable by more users)"};
  CHECK(unshared_files({{"n1", &source}, {"n2", &usual}, {"n3", &none}}, 0, false, true) == named);
  // Each node keeps the one that it has.
  CHECK(unshared_files({{"n1", &source}, {"n2", &usual}}, 0, false, true).empty());
  CHECK(unshared_files({{"n1", &source}, {"n2", &source}, {"n3", &none}}, 0, false, true).empty());
  CHECK(unshared_files({{"n1", &usual}, {"n2", &source}, {"n3", &none}}, 0, false, true).empty());
}

TEST_CASE("content: a directory that no other node has and that more users can write to is the source's alone") {
  auto folder = file("sub", 0, "");
  folder.kind = CopyKind::kDirectory;
  const auto usual = listing({file("a", 10, "1")});
  const auto own_of = [&](int mode, bool by_name) {
    folder.mode = mode;
    const auto source = listing({file("a", 10, "1"), folder});
    return unshared_files({{"n1", &source}, {"n2", &usual}, {"n3", nullptr}}, 0, by_name, true);
  };
  for (const bool by_name : {false, true}) {
    CHECK(own_of(0755, by_name).empty());
    CHECK(own_of(0775, by_name) == std::vector<std::string>{"sub (writable by more users)"});
    CHECK(own_of(0757, by_name) == std::vector<std::string>{"sub (writable by more users)"});
  }
  // A target, which a directory does not have, hides no rights.
  auto usual_folder = folder;
  usual_folder.mode = 0700;
  folder.mode = 0755;
  folder.target = "x";
  const auto with_target = listing({folder});
  const auto others = listing({usual_folder});
  CHECK(unshared_files({{"n1", &with_target}, {"n2", &others}}, 0, false, true) ==
        std::vector<std::string>{"sub (with other rights)"});
  folder.target = "";
  // Another node has it, with the same rights.
  folder.mode = 0775;
  const auto source = listing({file("a", 10, "1"), folder});
  CHECK(unshared_files({{"n1", &source}, {"n2", &usual}, {"n3", &source}}, 0, false, false).empty());
}

TEST_CASE("content: another group is another right, unless the owner is declared, and one node that agrees is enough") {
  const auto usual = listing({file("a", 10, "1")});
  auto source = usual;
  source.entries[0].group = "video";
  const std::vector<NamedListing> alone{{"n1", &source}, {"n2", &usual}, {"n3", &usual}};
  CHECK(unshared_files(alone, 0, false, false) == std::vector<std::string>{"a (with other rights)"});
  CHECK(unshared_files(alone, 0, false, true).empty());
  const std::vector<NamedListing> agreed{{"n1", &source}, {"n2", &usual}, {"n3", &source}};
  CHECK(unshared_files(agreed, 0, false, false).empty());
  source.entries[0].group = "nvidia";
  source.entries[0].mode = 0640;
  CHECK(unshared_files(alone, 0, false, false) == std::vector<std::string>{"a (with other rights)"});
  CHECK(unshared_files(agreed, 0, false, false).empty());
}

TEST_CASE("content: without a named source, a whole tree comes before an unfinished one, then the larger") {
  auto small = listing({file("a", 10, "1")});
  auto large = listing({file("a", 10, "1"), file("b", 20, "2")});
  auto unfinished = listing({file("a", 10, "1"), file("b", 20, "2"), file("c", 20, "3")});
  unfinished.partial_bytes = 5;
  const std::vector<NamedListing> all{{"n1", nullptr}, {"n2", &unfinished}, {"n3", &small}, {"n4", &large}};
  CHECK(choose_source(all, "") == std::optional<std::size_t>(3));
  CHECK(choose_source(all, "n3") == std::optional<std::size_t>(2));
  CHECK(choose_source(all, "n1") == std::nullopt);
  // A directory that others lack, and that its owner alone can write to, is nothing to ask about.
  auto folder = file("sub", 0, "");
  folder.kind = CopyKind::kDirectory;
  const auto extra = listing({file("a", 10, "x"), file("only", 1, ""), folder});
  CHECK(unshared_files({{"n1", nullptr}, {"n3", &small, true}, {"n5", &extra}}, 2, true, false) ==
        std::vector<std::string>{"only"});
  CHECK(unshared_files(all, 2, false, false).empty());
  const Listing absent;
  CHECK(choose_source({{"n1", &absent}}, "") == std::nullopt);
}

}  // namespace sparkplan
