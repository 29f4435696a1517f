#include <algorithm>
#include <random>

#include "engine/core/text.h"
#include "tests/support/catch.h"
#include "tests/unit/process/cost.h"

namespace sparkplan {
namespace {

struct Hunk {
  std::size_t start_before = 0;
  std::size_t count_before = 0;
  std::size_t start_after = 0;
  std::size_t count_after = 0;
};

// "12,3" or "12"; the position of the first line, counted from 0.
std::pair<std::size_t, std::size_t> read_range(std::string_view text) {
  const auto parts = split(text, ',');
  const std::size_t start = std::stoul(std::string(parts[0]));
  const std::size_t count = parts.size() > 1 ? std::stoul(std::string(parts[1])) : 1;
  return {count == 0 ? start : start - 1, count};
}

Hunk read_header(std::string_view line) {
  const auto words = split(line, ' ');
  REQUIRE(words.size() == 4);
  Hunk hunk;
  std::tie(hunk.start_before, hunk.count_before) = read_range(words[1].substr(1));
  std::tie(hunk.start_after, hunk.count_after) = read_range(words[2].substr(1));
  return hunk;
}

// Applies a patch like patch(1), without its tolerance: every count, context and removed line must fit.
class Patch {
 public:
  Patch(std::string_view before, std::string_view diff) : before_(with_ends(before)) {
    const auto lines = split_lines(diff);
    for (std::size_t i = 2; i < lines.size(); ++i) {
      if (lines[i].starts_with("@@")) {
        finish_hunk();
        begin_hunk(read_header(lines[i]));
        continue;
      }
      if (lines[i].starts_with("\\")) continue;
      const bool no_newline = i + 1 < lines.size() && lines[i + 1].starts_with("\\");
      take(lines[i].front(), std::string(lines[i].substr(1)) + (no_newline ? "" : "\n"));
    }
    finish_hunk();
    while (at_ < before_.size()) after_ += before_[at_++];
  }

  const std::string& after() const { return after_; }
  std::size_t edits() const { return edits_; }

  static std::vector<std::string> with_ends(std::string_view text) {
    std::vector<std::string> lines;
    for (const auto line : split_lines(text)) lines.push_back(std::string(line) + "\n");
    if (!text.empty() && !text.ends_with('\n')) lines.back().pop_back();
    return lines;
  }

 private:
  void begin_hunk(const Hunk& hunk) {
    REQUIRE(hunk.start_before >= at_);
    while (at_ < hunk.start_before) {
      after_ += before_[at_++];
      ++lines_after_;
    }
    REQUIRE(lines_after_ == hunk.start_after);
    expected_ = hunk;
    seen_ = {};
  }

  void finish_hunk() {
    REQUIRE(seen_.count_before == expected_.count_before);
    REQUIRE(seen_.count_after == expected_.count_after);
  }

  void take(char side, const std::string& line) {
    if (side != '+') {
      REQUIRE(at_ < before_.size());
      REQUIRE(before_[at_] == line);
      ++at_;
      ++seen_.count_before;
    }
    if (side != '-') {
      after_ += line;
      ++lines_after_;
      ++seen_.count_after;
    }
    if (side != ' ') ++edits_;
  }

  std::vector<std::string> before_;
  std::size_t at_ = 0;
  std::size_t lines_after_ = 0;
  std::size_t edits_ = 0;
  std::string after_;
  Hunk expected_;
  Hunk seen_;
};

// The plain table, to check the faster search against.
std::size_t fewest_edits(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::vector<std::vector<std::size_t>> common(a.size() + 1, std::vector<std::size_t>(b.size() + 1, 0));
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      common[i][j] = a[i - 1] == b[j - 1] ? common[i - 1][j - 1] + 1 : std::max(common[i - 1][j], common[i][j - 1]);
    }
  }
  return a.size() + b.size() - 2 * common[a.size()][b.size()];
}

std::string numbers(int first, int last) {
  std::string text;
  for (int i = first; i <= last; ++i) text += std::to_string(i) + "\n";
  return text;
}

TEST_CASE("Equal texts have no diff") {
  CHECK(unified_diff("f", "a\n", "a\n").empty());
  CHECK(unified_diff("f", "", "").empty());
  CHECK(unified_diff("f", std::nullopt, std::nullopt).empty());
}

TEST_CASE("A changed line is shown with three lines around it") {
  CHECK(unified_diff("/etc/f", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n6\n7\n8\n9\n") ==
        "--- /etc/f\n+++ /etc/f\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n");
}

TEST_CASE("Fewer lines of context are shown at the ends") {
  CHECK(unified_diff("f", "a\nb\n", "x\nb\n") == "--- f\n+++ f\n@@ -1,2 +1,2 @@\n-a\n+x\n b\n");
}

TEST_CASE("A count of one is omitted") {
  CHECK(unified_diff("f", "a\n", "b\n") == "--- f\n+++ f\n@@ -1 +1 @@\n-a\n+b\n");
}

TEST_CASE("In a changed range the removed lines come first") {
  CHECK(unified_diff("f", "a\nb\nc\n", "x\ny\nz\n") == "--- f\n+++ f\n@@ -1,3 +1,3 @@\n-a\n-b\n-c\n+x\n+y\n+z\n");
}

TEST_CASE("A new file is compared with /dev/null, and so is a removed file") {
  CHECK(unified_diff("f", std::nullopt, "a\nb\n") == "--- /dev/null\n+++ f\n@@ -0,0 +1,2 @@\n+a\n+b\n");
  CHECK(unified_diff("f", "a\n", std::nullopt) == "--- f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n");
}

TEST_CASE("An empty file differs from a missing file") {
  CHECK(unified_diff("f", std::nullopt, "") == "--- /dev/null\n+++ f\n");
  CHECK(unified_diff("f", "", std::nullopt) == "--- f\n+++ /dev/null\n");
}

TEST_CASE("A missing newline at the end is a difference and is marked") {
  CHECK(unified_diff("f", "a", "a\n") == "--- f\n+++ f\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n");
  CHECK(unified_diff("f", "a\nb", "x\nb") ==
        "--- f\n+++ f\n@@ -1,2 +1,2 @@\n-a\n+x\n b\n\\ No newline at end of file\n");
}

TEST_CASE("Changes six lines apart share a hunk, and changes seven lines apart do not") {
  const auto hunks_with = [](int second) {
    std::string after = numbers(1, 30);
    after.replace(after.find("5\n"), 1, "x");
    const std::string line = "\n" + std::to_string(second) + "\n";
    after.replace(after.find(line), line.size(), "\ny\n");
    const auto diff = unified_diff("f", numbers(1, 30), after);
    const auto lines = split_lines(diff);
    return std::count_if(lines.begin(), lines.end(), [](std::string_view text) { return text.starts_with("@@"); });
  };
  CHECK(hunks_with(12) == 1);
  CHECK(hunks_with(13) == 2);
}

TEST_CASE("Two hunks have the line numbers of diff -u") {
  std::string after = numbers(1, 20);
  after.replace(after.find("3\n"), 2, "");
  after += "21\n";
  CHECK(unified_diff("f", numbers(1, 20), after) ==
        "--- f\n+++ f\n@@ -1,6 +1,5 @@\n 1\n 2\n-3\n 4\n 5\n 6\n@@ -18,3 +17,4 @@\n 18\n 19\n 20\n+21\n");
}

TEST_CASE("A diff of random texts, applied to the first, gives the second with the fewest edits") {
  std::mt19937 engine(1986);
  const auto random_text = [&engine](std::size_t lines, std::size_t letters) {
    std::string text;
    for (std::size_t i = engine() % lines; i > 0; --i) {
      text += static_cast<char>('a' + engine() % letters);
      if (i > 1 || engine() % 2 == 0) text += '\n';
    }
    return text;
  };
  for (std::size_t i = 0; i < 3000; ++i) {
    const auto before = random_text(40, i % 7 + 1);
    const auto after = random_text(40, i % 7 + 1);
    INFO("before:\n" << before << "\nafter:\n" << after);
    const Patch patch(before, unified_diff("f", before, after));
    REQUIRE(patch.after() == after);
    REQUIRE(patch.edits() == fewest_edits(Patch::with_ends(before), Patch::with_ends(after)));
  }
}

TEST_CASE("Texts too large or too different to compare by line are replaced completely") {
  const std::string before = numbers(1, 6000);
  const std::string after = "first\n" + numbers(10001, 16000);
  const Patch patch(before, unified_diff("f", before, after));
  CHECK(patch.after() == after);
  CHECK(patch.edits() == 12001);
}

TEST_CASE("A small change in a huge text gives a small diff") {
  const std::string before = numbers(1, 100000);
  std::string after = before;
  after.replace(after.find("\n50000\n"), 7, "\nx\n");
  const Patch patch(before, unified_diff("f", before, after));
  CHECK(patch.after() == after);
  CHECK(patch.edits() == 2);
}

TEST_CASE("More than 20000 lines between two changes are replaced completely") {
  const std::string before = numbers(1, 30000);
  const std::string after = "x\n" + numbers(2, 29999) + "y\n";
  const Patch patch(before, unified_diff("f", before, after));
  CHECK(patch.after() == after);
  CHECK(patch.edits() == 60000);
}

TEST_CASE("Of large texts, equal lines around the replaced ones are context") {
  const std::string before = numbers(1, 10) + numbers(100'001, 130'000) + numbers(11, 20);
  const std::string after = numbers(1, 10) + "x" + numbers(200'001, 200'010) + numbers(11, 20);
  const auto diff = unified_diff("f", before, after);
  CHECK(diff.starts_with("--- f\n+++ f\n@@ -8,30006 +8,16 @@\n 8\n 9\n 10\n-100001\n"));
  CHECK(diff.ends_with("+200010\n 11\n 12\n 13\n"));
  const Patch patch(before, diff);
  CHECK(patch.after() == after);
  CHECK(patch.edits() == 30'010);
}

TEST_CASE("A diff with millions of lines takes little memory") {
  const std::string before(std::size_t{4} << 20, '\n');
  const auto cost = test::cost_of([&] { return unified_diff("f", before, "a\n").size() > before.size(); });
  CHECK(cost.exit_status == 0);
  CHECK(cost.megabytes < 40);
}

}  // namespace
}  // namespace sparkplan
