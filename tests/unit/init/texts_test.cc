// The entries that `init` writes for files whose contents came from beside the lost cluster.yaml.
#include "engine/core/text.h"
#include "engine/init/yaml_writer.h"
#include "tests/support/catch.h"
#include "tests/unit/init/machines.h"

namespace sparkplan::test {
namespace {

const std::string kFrame = "version: 1\nname: lab\nnodes:\n";

/// A cluster whose nodes have one file each, with these texts.
Cluster with_texts(const std::vector<std::string>& texts) {
  std::string file = kFrame;
  for (std::size_t i = 1; i <= texts.size(); ++i) {
    const std::string number = std::to_string(i);
    file += "  - {name: n" + number + ", address: 10.0.0." + number + ", files: [{path: /etc/motd, source: text-" +
            number + "}]}\n";
  }
  const auto read = [&](const std::string& name) -> Result<std::string> {
    return texts.at(static_cast<std::size_t>(std::stoi(name.substr(5))) - 1);
  };
  auto result = load_cluster(file, "cluster.yaml", builtin_registry(), read);
  REQUIRE(result.cluster);
  return *std::move(result.cluster);
}

}  // namespace

TEST_CASE("a file's text is restored byte for byte") {
  for (const std::string text : {"a\nb\n", "a\n\n", "\na\n", " a\nb\n", "a\tb\nc\n", "a \nb\n", "äb\n", "\n", "a",
                                 "a\u200db\nc\n", "\ufeffa\nb\n"}) {
    INFO(text);
    const auto draft = attempt(applied(with_texts({text})));
    REQUIRE(draft);
    CHECK_FALSE(has_remark(*draft, "init.not-written"));
    const Cluster again = loaded(draft->text);
    CHECK(again.nodes.front().sections.at("files").list_items()->front().text_or("content", "?") == text);
  }
}

TEST_CASE("a text that cluster.yaml cannot hold exactly is left out, with a remark") {
  for (const std::string text : {"a\r\nb\r\n", "a\rb\n", "\x1b[31m\n", "a\x7f\n", "a\u009b\n", "a\u202eb\n"}) {
    INFO(text);
    const auto draft = attempt(applied(with_texts({text})));
    REQUIRE(draft);
    CHECK(has_remark(*draft, "init.not-written"));
    CHECK_FALSE(contains(draft->text, "/etc/motd"));
  }
}

TEST_CASE("a machine's text is escaped, so that it cannot control a terminal") {
  const std::string evil = "a\x1b[2J\x7f\u009b\u202e\u200b\U000e0041\xffz\n";
  const std::string one_line = yaml_scalar(Value(evil));
  CHECK(one_line == "\"a\\x1B[2J\\x7F\\x9B\\u202E\\u200B\\U000E0041\uFFFDz\\n\"");
  YamlWriter writer;
  writer.entry("key\x1b", Value::map({{"text", evil}}), 0);
  writer.comment("said: " + evil, 0);
  const std::string text = writer.take();
  CHECK(printable(text, true) == text);
}

TEST_CASE("texts that exceed the total size when indented are left out, with a remark") {
  std::vector<std::string> texts;
  for (int i = 0; i < 4; ++i) {
    std::string text = std::to_string(i) + "\n";
    while (text.size() < 250'000) text += "a\n";
    texts.push_back(std::move(text));
  }
  const auto draft = attempt(applied(with_texts(texts)));
  REQUIRE(draft);
  CHECK(has_remark(*draft, "init.not-written"));
  CHECK_FALSE(contains(draft->text, "/etc/motd"));
  CHECK(loaded(draft->text).nodes.size() == 4);
}

TEST_CASE("a long text of one machine takes no section of the others from the file") {
  auto machines = applied(
      loaded("version: 1\nname: lab\nfiles: [{path: /etc/motd, content: \"hello\\n\"}]\n"
             "nodes: [{name: n1, address: 10.0.0.1}, {name: n2, address: 10.0.0.2}, {name: n3, address: 10.0.0.3}]\n"));
  std::string text;
  while (text.size() < 500'000) text += "a\n";
  machines[1].manifest->resources.emplace(
      ResourceId{"file", "/etc/long"},
      ManagedResource{Value::map({{"content", text}, {"mode", "0644"}, {"uid", 0}, {"gid", 0}}), {}});
  const auto draft = attempt(machines);
  REQUIRE(draft);
  CHECK(has_remark(*draft, "init.not-written"));
  CHECK_FALSE(contains(draft->text, "/etc/long"));
  for (const NodeSpec& node : loaded(draft->text).nodes) {
    INFO(node.name.str());
    CHECK(node.sections.at("files").list_items()->front().text_or("path", "") == "/etc/motd");
  }
}

}  // namespace sparkplan::test
