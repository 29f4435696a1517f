// Files designed to be slow: each is read or refused in a time that grows linearly with its length, not quadratically.
#include <algorithm>
#include <ctime>
#include <functional>
#include <iostream>
#include <map>
#include <tuple>

#include "engine/load/load.h"
#include "engine/resource/registry.h"
#include "tests/support/catch.h"

namespace sparkplan {
namespace {

constexpr std::size_t kLargestFile = 1 << 20;

/// As many pieces as fit: `head`, piece(0), piece(1), ..., `tail`.
std::string filled(std::size_t size, const std::string& head, const std::function<std::string(std::size_t)>& piece,
                   const std::string& tail = "") {
  std::string text = head;
  for (std::size_t i = 0; true; ++i) {
    const std::string next = piece(i);
    if (text.size() + next.size() + tail.size() > size) break;
    text += next;
  }
  return text + tail;
}

std::function<std::string(std::size_t)> repeated(const std::string& piece) {
  return [piece](std::size_t) { return piece; };
}

struct HostileFile {
  const char* name;
  std::function<std::string(std::size_t size)> text;
};

std::string number(std::size_t i) { return std::to_string(i); }

const std::string kHead = "version: 1\nname: lab\nnodes:\n";

const std::vector<HostileFile>& shapes() {
  static const std::vector<HostileFile> all{
      {"everything in one line",
       [](std::size_t size) {
         return filled(
             size, "{version: 1, name: lab, nodes: [",
             [](std::size_t i) { return "{name: n" + number(i) + ", address: h" + number(i) + ".lan}, "; }, "]}");
       }},
      {"unknown keys in one line",
       [](std::size_t size) {
         return filled(
             size, "{version: 1, ", [](std::size_t i) { return "k" + number(i) + ": 1, "; }, "}");
       }},
      {"quoted words in one line",
       [](std::size_t size) { return filled(size, "{version: 1, nodes: [", repeated("\"a\", "), "]}"); }},
      {"a list of single letters", [](std::size_t size) { return filled(size, kHead, repeated("- a\n")); }},
      {"a list of nothing", [](std::size_t size) { return filled(size, kHead, repeated("-\n")); }},
      {"a flow list of nothing", [](std::size_t size) { return filled(size, "nodes: [", repeated(","), "]"); }},
      {"open brackets", [](std::size_t size) { return filled(size, "nodes: ", repeated("[")); }},
      {"open braces", [](std::size_t size) { return filled(size, "nodes: ", repeated("{")); }},
      {"nested entries", [](std::size_t size) { return filled(size, "nodes:\n", repeated("- ")); }},
      {"nested question marks", [](std::size_t size) { return filled(size, "", repeated("? ")); }},
      {"closing brackets", [](std::size_t size) { return filled(size, "nodes: ", repeated("]")); }},
      {"one key of everything", [](std::size_t size) { return filled(size, "", repeated("k"), ": 1\n"); }},
      {"one word of everything", [](std::size_t size) { return filled(size, "name: ", repeated("w")); }},
      {"an open quote", [](std::size_t size) { return filled(size, "name: \"", repeated("w")); }},
      {"a block of short lines", [](std::size_t size) { return filled(size, "name: |\n", repeated(" x\n")); }},
      {"a folded block of blank lines", [](std::size_t size) { return filled(size, "name: >\n", repeated("\n")); }},
      {"a plain scalar of many lines", [](std::size_t size) { return filled(size, "name:\n", repeated(" x\n")); }},
      {"anchors",
       [](std::size_t size) { return filled(size, kHead, [](std::size_t i) { return "- &a" + number(i) + " x\n"; }); }},
      {"aliases", [](std::size_t size) { return filled(size, "x: &a {b: 1}\nnodes:\n", repeated("- *a\n")); }},
      {"tags", [](std::size_t size) { return filled(size, kHead, repeated("- !t x\n")); }},
      {"the same key again and again", [](std::size_t size) { return filled(size, "", repeated("a: 1\n")); }},
      {"unknown keys",
       [](std::size_t size) { return filled(size, "", [](std::size_t i) { return "key" + number(i) + ": 1\n"; }); }},
      {"unknown keys of 400 letters",
       [](std::size_t size) {
         return filled(size, "", [](std::size_t i) { return std::string(400, 'k') + number(i) + ": 1\n"; });
       }},
      {"nodes with an unknown key each",
       [](std::size_t size) {
         return filled(size, kHead, [](std::size_t i) {
           return "- {name: n" + number(i) + ", address: h" + number(i) + ", mtuu: 1}\n";
         });
       }},
      {"nodes with the same name and address",
       [](std::size_t size) { return filled(size, kHead, repeated("- {name: n1, address: h1.lan}\n")); }},
      {"nodes with a section each that is wrong",
       [](std::size_t size) {
         return filled(size, kHead, [](std::size_t i) {
           return "- {name: n" + number(i) + ", address: h" + number(i) + ", sysctl: {a: []}}\n";
         });
       }},
      {"nodes that are right",
       [](std::size_t size) {
         return filled(size, kHead,
                       [](std::size_t i) { return "- {name: n" + number(i) + ", address: h" + number(i) + ".lan}\n"; });
       }},
      {"nodes behind a switch",
       [](std::size_t size) {
         return filled(size, "fabric: {topology: switch}\nprofile: dgx-spark\n" + kHead,
                       [](std::size_t i) { return "- {name: n" + number(i) + ", address: h" + number(i) + ".lan}\n"; });
       }},
      {"nodes in a ring",
       [](std::size_t size) {
         return filled(size, "fabric: {topology: ring}\nprofile: dgx-spark\n" + kHead,
                       [](std::size_t i) { return "- {name: n" + number(i) + ", address: h" + number(i) + ".lan}\n"; });
       }},
      {"kernel parameters",
       [](std::size_t size) {
         return filled(size, kHead + "- {name: n1, address: h1.lan}\nsysctl:\n",
                       [](std::size_t i) { return "  net.a" + number(i) + ": 1\n"; });
       }},
      {"packages",
       [](std::size_t size) {
         return filled(size, kHead + "- {name: n1, address: h1.lan}\npackages:\n",
                       [](std::size_t i) { return "  - p" + number(i) + "\n"; });
       }},
      {"the same package",
       [](std::size_t size) {
         return filled(size, kHead + "- {name: n1, address: h1.lan}\npackages:\n", repeated("  - vim\n"));
       }},
      {"files",
       [](std::size_t size) {
         return filled(size, kHead + "- {name: n1, address: h1.lan}\nfiles:\n",
                       [](std::size_t i) { return "  - {path: /etc/f" + number(i) + ", content: x}\n"; });
       }},
      {"comments", [](std::size_t size) { return filled(size, "", repeated("# c\n")); }},
      {"carriage returns", [](std::size_t size) { return filled(size, "", repeated("\r")); }},
      {"documents", [](std::size_t size) { return filled(size, "", repeated("---\n")); }},
      {"directives",
       [](std::size_t size) {
         return filled(
             size, "", [](std::size_t i) { return "%TAG !" + number(i) + "! x\n"; }, "---\na\n");
       }},
  };
  return all;
}

double seconds_to_load(const std::string& text) {
  const std::clock_t began = std::clock();
  const auto loaded = load_cluster(text, "cluster.yaml", builtin_registry());
  if (loaded.cluster) CHECK(loaded.diagnostics.size() < text.size());
  return static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
}

/// The minimum of several turns is the best figure with a coarse clock or on a busy machine.
double least_seconds_to_load(const std::string& text, int turns) {
  double least = seconds_to_load(text);
  for (int i = 1; i < turns; ++i) least = std::min(least, seconds_to_load(text));
  return least;
}

}  // namespace

TEST_CASE("a text sixteen times as long takes about sixteen times as long, whatever its form") {
  constexpr double kShortest = 0.004;  // Shorter times measure the schema.
  for (const HostileFile& shape : shapes()) {
    INFO(shape.name);
    const double small = std::max(kShortest, least_seconds_to_load(shape.text(kLargestFile / 64), 3));
    const std::string text = shape.text(kLargestFile / 4);
    // A quadratic algorithm takes 256 times as long.
    CHECK((seconds_to_load(text) < 48 * small || least_seconds_to_load(text, 3) < 48 * small));
  }
}

TEST_CASE("a file of 1 MiB has at most 100000 values, including empty ones") {
  for (const std::string piece : {"-\n", "- ~\n", "- a\n", "- []\n"}) {
    const auto loaded = load_cluster(filled(kLargestFile, "nodes:\n", repeated(piece)), "f", builtin_registry());
    REQUIRE(loaded.diagnostics.size() == 1);
    CHECK(loaded.diagnostics.front().code == "yaml.too-large");
  }
}

TEST_CASE("a file with 24000 wrong entries has 1000 findings, and one that counts the others") {
  std::string text = kHead + "- {name: a, address: b}\n";
  for (int i = 0; i < 24'000; ++i) text += "k" + std::to_string(i) + ": 1\n";
  const auto loaded = load_cluster(text, "cluster.yaml", builtin_registry());
  CHECK_FALSE(loaded.cluster);
  REQUIRE(loaded.diagnostics.size() == kMostFindings + 1);
  CHECK(loaded.diagnostics.back().severity == Severity::kError);
  CHECK(loaded.diagnostics.back().code == "file.more-findings");
  CHECK(loaded.diagnostics.back().message == "and 23000 more findings; the first of them is here");
  for (std::size_t i = 0; i < kMostFindings; ++i) {
    REQUIRE(loaded.diagnostics[i].code == "schema.unknown-key");
    REQUIRE(loaded.diagnostics[i].hint.starts_with("allowed here: "));
  }
}

TEST_CASE("256 models of the hub on a thousand nodes with different users cost less than five seconds") {
  std::string text = "version: 1\nname: lab\nnodes: [";
  for (std::size_t i = 0; i < 1000; ++i) {
    text += "{name: n" + number(i) + ", address: h" + number(i) + ", ssh: {user: u" + number(i) + "}}, ";
  }
  text += "]\nmodels: [";
  for (std::size_t i = 0; i < 256; ++i) text += "{hub: org/m" + number(i) + "}, ";
  CHECK(seconds_to_load(text + "]\n") < 5);
  const auto loaded = load_cluster(text + "]\n", "cluster.yaml", builtin_registry());
  CHECK(loaded.cluster);
}

TEST_CASE("two models overlap if one is in the other, in whatever order they are, and each names an earlier one") {
  const std::string head = "version: 1\nname: lab\nnodes: [{name: a, address: b}]\nmodels:\n";
  const auto places = [&](const std::string& models) {
    std::map<int, int> others;
    const auto loaded = load_cluster(head + models, "cluster.yaml", builtin_registry());
    for (const auto& diagnostic : loaded.diagnostics) {
      CHECK(diagnostic.code == "models.overlap");
      others[diagnostic.where.line - 4] = diagnostic.notes.front().where.line - 4;
    }
    return others;
  };
  const auto path = [](const std::string& text) { return "- {path: " + text + "}\n"; };
  using Others = std::map<int, int>;
  CHECK(places(path("/a/b") + path("/a/bc") + path("/a-b") + path("/a.b")).empty());
  CHECK(places(path("/a/b") + path("/a/b")) == Others{{2, 1}});
  CHECK(places(path("/a") + path("/a-b") + path("/a/b/c")) == Others{{3, 1}});
  CHECK(places(path("/a/b/c") + path("/a-b") + path("/a")) == Others{{3, 1}});
  CHECK(places(path("/a/y") + path("/a/x") + path("/a") + path("/a/x/z")) == Others{{3, 1}, {4, 3}});
  CHECK(places(path("/a/b") + path("/b") + path("/a//b/.") + path("/c")) == Others{{3, 1}});
}

TEST_CASE("two hundred misspelt ends of cables cost less than five seconds") {
  const std::string long_tail(190, 'a');
  const std::string short_tail(54, 'a');
  for (const auto& [nodes, cables, tail] : {std::tuple{200, 200, long_tail}, std::tuple{1000, 1000, short_tail}}) {
    INFO(nodes << " nodes, names of " << tail.size() << " letters");
    std::string text = "version: 1\nname: lab\nnodes: [";
    for (int i = 0; i < nodes; ++i) {
      text += "{name: n" + number(static_cast<std::size_t>(i)) + tail + ", address: h" +
              number(static_cast<std::size_t>(i)) + "}, ";
    }
    text += "]\nfabric: {topology: ring, cables: [";
    for (int i = 0; i < cables; ++i) {
      const std::string end = number(static_cast<std::size_t>(i)) + tail;
      text += "[\"m" + end + ":0\", \"k" + end + ":1\"], ";
    }
    CHECK(seconds_to_load(text + "]}\n") < 5);
  }
}

TEST_CASE("a thousand misspelt sources of images cost less than five seconds") {
  const std::string tail(54, 'a');
  std::string text = "version: 1\nname: lab\nnodes: [";
  for (std::size_t i = 0; i < 1000; ++i) text += "{name: n" + number(i) + tail + ", address: h" + number(i) + "}, ";
  text += "]\nimages: [";
  for (std::size_t i = 0; i < 2000; ++i) text += "{name: i" + number(i) + ", from: m" + number(i) + tail + "}, ";
  CHECK(seconds_to_load(text + "]\n") < 5);
}

TEST_CASE("each of the first misspelt names of nodes has a suggestion, and the same word has the same one") {
  std::string text =
      "version: 1\nname: lab\nnodes: [{name: spark-01, address: a}, {name: spark-02, address: b}]\nimages: [";
  for (std::size_t i = 0; i < 40; ++i) text += "{name: i" + number(i) + ", from: spark-0" + number(i % 2) + "x}, ";
  for (std::size_t i = 0; i < 40; ++i) text += "{name: j" + number(i) + ", from: spark-01" + number(i + 10) + "}, ";
  const auto loaded = load_cluster(text + "]\n", "cluster.yaml", builtin_registry());
  std::size_t suggested = 0;
  for (const auto& diagnostic : loaded.diagnostics) suggested += diagnostic.hint.starts_with("did you mean spark-0");
  CHECK(loaded.diagnostics.size() == 80);
  CHECK(suggested == 40 + 30);
}

// Figures, not a check: load_test "[.measure]".
TEST_CASE("load times of files designed to be slow", "[.measure]") {
  for (const HostileFile& shape : shapes()) {
    std::cout << shape.name << ":";
    for (const std::size_t size : {kLargestFile / 16, kLargestFile / 4, kLargestFile}) {
      std::cout << " " << seconds_to_load(shape.text(size)) << std::flush;
    }
    std::cout << " s\n";
  }
}

}  // namespace sparkplan
