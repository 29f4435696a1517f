// How live lines are removed from a screen, on a terminal made of lines of text.
#include "engine/cli/terminal/screen.h"

#include <chrono>
#include <thread>

#include "tests/support/catch.h"

namespace sparkplan {
namespace {

/// The few terminal functions that live lines use; any other function fails the test.
class Paper {
 public:
  explicit Paper(std::size_t columns) : columns_(columns) {}

  void write(std::string_view text) {
    while (!text.empty()) {
      const char c = text.front();
      text.remove_prefix(1);
      if (c == '\033') {
        obey(text);
      } else if (c == '\n') {
        go_to(row_ + 1);
        column_ = 0;
      } else if (c == '\r') {
        column_ = 0;
      } else {
        put(c);
      }
    }
  }

  const std::vector<std::string>& rows() const { return rows_; }
  std::size_t row() const { return row_; }

 private:
  void obey(std::string_view& text) {
    const auto end = text.find_first_of("ABKm");
    REQUIRE(end != std::string_view::npos);
    REQUIRE(text.front() == '[');
    const auto count = static_cast<std::size_t>(std::stoi(std::string(text.substr(1, end - 1))));
    if (text[end] == 'A') REQUIRE(row_ >= count);
    if (text[end] == 'A') row_ -= count;
    if (text[end] == 'B') go_to(row_ + count);
    if (text[end] == 'K') rows_[row_].clear();
    text.remove_prefix(end + 1);
  }
  void go_to(std::size_t row) {
    row_ = row;
    if (rows_.size() <= row_) rows_.resize(row_ + 1);
  }
  void put(char c) {
    if (column_ == columns_) {
      go_to(row_ + 1);
      column_ = 0;
    }
    rows_[row_].resize(std::max(rows_[row_].size(), column_ + 1), ' ');
    rows_[row_][column_++] = c;
  }

  std::size_t columns_;
  std::size_t row_ = 0;
  std::size_t column_ = 0;
  std::vector<std::string> rows_{1};
};

}  // namespace

TEST_CASE("live lines are erased, lines above them stay, and the cursor returns to the first erased line") {
  const std::vector<std::string> lines{"  n1  connecting", "\033[2m  n2  observed\033[0m", ""};
  // A wide terminal, and narrower terminals that break the lines after a resize.
  for (const int columns : {80, 16, 15, 7, 2}) {
    INFO(columns);
    Paper paper(static_cast<std::size_t>(columns));
    paper.write("a\nb\n");
    const auto above = paper.row();
    for (const auto& line : lines) paper.write(line + "\n");
    paper.write("^C");
    const auto before = paper.rows();
    REQUIRE(before.size() > above + 3);
    paper.write(erasure_of(lines, columns));
    CHECK(paper.row() == above);
    CHECK(paper.rows()[0] == "a");
    CHECK(paper.rows()[1] == "b");
    for (std::size_t row = above; row < paper.rows().size(); ++row) CHECK(paper.rows()[row].empty());
  }
}

TEST_CASE("a screen knows how long its questions lasted") {
  using std::chrono::milliseconds;
  Screen screen;
  CHECK(screen.time_held() == milliseconds(0));
  {
    const Screen::Hold question(screen);
    const Screen::Hold within(screen);
    std::this_thread::sleep_for(milliseconds(20));
    CHECK(screen.time_held() == milliseconds(0));
  }
  const auto first = screen.time_held();
  CHECK(first >= milliseconds(20));
  { const Screen::Hold another(screen); }
  CHECK(screen.time_held() >= first);
}

TEST_CASE("without live lines nothing is erased") { CHECK(erasure_of({}, 80).empty()); }

}  // namespace sparkplan
