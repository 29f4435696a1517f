// Names in brackets: the way back from fold_names().
#include "engine/core/name_list.h"

#include "engine/core/text.h"
#include "tests/support/catch.h"

namespace sparkplan {
namespace {

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("names in brackets are unfolded with the width of their first number") {
  CHECK(unfold_names("spark-[01-03]") == Names{"spark-01", "spark-02", "spark-03"});
  CHECK(unfold_names("n[8-11]-a") == Names{"n8-a", "n9-a", "n10-a", "n11-a"});
  CHECK(unfold_names("n[01,04-05]") == Names{"n01", "n04", "n05"});
  CHECK(unfold_names("r[1-2]-n[1-2]") == Names{"r1-n1", "r1-n2", "r2-n1", "r2-n2"});
  CHECK(unfold_names("head") == Names{"head"});
  CHECK(unfold_names("spark-*") == Names{"spark-*"});
}

TEST_CASE("what is no list of numbers stays one name") {
  for (const std::string text : {"a[", "a[]", "a[1-]", "a[-1]", "a[x]", "a[2-1]", "a[1,,2]", "a[1-5000]",
                                 "a[1-99]-[1-99]", "a[1 -2]", "a[1-99999999999999999999]", "]a["}) {
    INFO(text);
    CHECK(unfold_names(text) == Names{text});
  }
}

TEST_CASE("a text with more than 8 brackets is one name") {
  const auto repeated = [](std::size_t times) {
    std::string text;
    for (std::size_t i = 0; i < times; ++i) text += "[1]";
    return text;
  };
  CHECK(unfold_names(repeated(kMostBrackets)) == Names{"11111111"});
  CHECK_FALSE(has_too_many_brackets(repeated(kMostBrackets)));
  for (const std::size_t times : {kMostBrackets + 1, std::size_t{20'000}}) {
    CHECK(has_too_many_brackets(repeated(times)));
    CHECK(unfold_names(repeated(times)) == Names{repeated(times)});
  }
}

TEST_CASE("a text whose names have more than 1 MiB together is one name") {
  const std::string long_text = std::string(100'000, 'a') + "[1-4096]";
  CHECK(unfold_names(long_text) == Names{long_text});
  CHECK(unfold_names(std::string(200, 'a') + "[1-4096]").size() == kMostUnfoldedNames);
}

TEST_CASE("brackets that are no numbers have a fault in words") {
  CHECK(fault_of_brackets("spark-[03-01]") == "the range 03-01 is reversed: write 01-03");
  CHECK(fault_of_brackets("spark-[01,09-07]-a") == "the range 09-07 is reversed: write 07-09");
  CHECK(fault_of_brackets("spark-[01") == "a \"[\" has no \"]\"");
  for (const char* text : {"spark-[]", "spark-[a]", "spark-[1-]", "spark-[1,]", "r[1]-n[x]"}) {
    INFO(text);
    CHECK(fault_of_brackets(text) == "brackets hold numbers and ranges, such as [01-03,07]");
  }
  CHECK(fault_of_brackets("spark-[1-99999999]") == "brackets name at most 4096 nodes");
  for (const char* text : {"", "spark-01", "spark-*", "spark-[01-03]", "r[1-2]-n[3,5]"}) {
    INFO(text);
    CHECK(fault_of_brackets(text).empty());
  }
}

TEST_CASE("folded names unfold to the same names") {
  for (const Names& names : {Names{"spark-01", "spark-02", "spark-08"}, Names{"n8", "n9", "n10"}, Names{"a", "b-1"},
                             Names{"r1-n1", "r1-n2"}, Names{"spark-1", "spark-2", "head"}}) {
    Names back;
    for (const std::string& part : split_name_list(fold_names(names))) {
      for (std::string& name : unfold_names(part)) back.push_back(std::move(name));
    }
    CHECK(back == names);
  }
}

TEST_CASE("a list of names is split at commas that are not in brackets") {
  CHECK(split_name_list("spark-[01,03], head/sysctl") == Names{"spark-[01,03]", "head/sysctl"});
  CHECK(split_name_list("a,b,,") == Names{"a", "b"});
  CHECK(split_name_list("").empty());
  CHECK(split_name_list("a/file/[x,b") == Names{"a/file/[x", "b"});
  CHECK(split_name_list("a[1,2") == Names{"a[1,2"});
}

}  // namespace sparkplan
