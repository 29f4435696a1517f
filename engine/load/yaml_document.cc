#include "engine/load/yaml_document.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <istream>
#include <map>
#include <optional>
#include <streambuf>
#include <unordered_map>
#include <vector>

#include "engine/core/utf8.h"
#include "engine/load/yaml_text.h"

namespace sparkplan {
namespace {

constexpr std::size_t kDeepest = 64;
constexpr std::size_t kLargestWeight = 100'000;
constexpr std::size_t kLongestKey = 500;
// The reader of yaml-cpp keeps all tokens inside a bracket until it closes, some hundred bytes for each of these
// characters. kLargestWeight values have at most two of them each.
constexpr std::string_view kTokenCharacters = "[{,";
constexpr std::ptrdiff_t kMostTokenCharacters = 300'000;
// A finding takes about 1 KiB, and no reader needs thousands of them.
constexpr std::size_t kMostYamlFindings = 500;
constexpr std::string_view kCoreTag = "tag:yaml.org,2002:";

// Thrown through yaml-cpp to stop it after a fatal finding.
struct Stop {};

// The share of a value in the budget. Text counts, so that aliases cannot multiply it without limit.
std::size_t weight_of(std::string_view text) { return 1 + text.size() / 32; }

class TreeBuilder final : public YAML::EventHandler {
 public:
  TreeBuilder(const YamlText& text, Findings& findings) : text_(text), findings_(findings) {}

  Value take_root() { return std::move(root_); }
  std::optional<SourceRange> second_document() const { return second_document_; }
  /// The innermost map or list that has not ended yet.
  std::optional<SourceRange> open_place() const {
    return stack_.empty() ? std::nullopt : std::optional(stack_.back().node.value.where);
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ < 2) return;
    second_document_ = text_.at(offset_of(mark));
    throw Stop{};
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const std::size_t offset = text_.content_start(offset_of(mark));
    Node node;
    // yaml-cpp marks an empty value at the next token.
    const bool written = type_plain_scalar(plain_word(offset)).is_null() && !plain_word(offset).empty();
    node.value.where = written ? text_.scalar(offset, plain_word(offset)) : place_of_empty(offset);
    spend(node.weight, node.value.where, false);
    finish(std::move(node), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const std::size_t offset = offset_of(mark);
    const SourceRange where = text_.scalar(offset, "*" + plain_word(offset + 1));
    const auto target = anchors_.find(anchor);
    if (target == anchors_.end()) {
      findings_.error(where, "yaml.alias-inside-itself", "this alias refers to a value that contains it",
                      "write out the value");
      throw Stop{};
    }
    spend(target->second.weight, where, true);
    Node node = target->second;
    node.value.where = where;
    finish(std::move(node), 0);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    const std::size_t offset = text_.content_start(offset_of(mark));
    Node node;
    node.plain = !is_quoted_or_block(offset);
    const SourceRange where = text_.scalar(offset, text);
    node.weight = weight_of(text);
    spend(node.weight, where, false);
    check_characters(text, offset, where);
    node.value = typed(text, tag, node.plain, where);
    node.value.where = where;
    node.text = text;
    finish(std::move(node), anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, Value(Value::List{}));
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, Value(Value::Map{}));
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

 private:
  struct Node {
    Value value;
    std::optional<std::string> text;  // The text of a scalar, as read.
    bool plain = false;
    std::size_t weight = 1;
  };
  struct Key {
    std::string name;
    SourceRange where;
    bool ignored = false;  // Its value is read and dropped.
  };
  struct Open {
    Node node;
    YAML::anchor_t anchor = 0;
    std::optional<Key> key;  // In a map: the key of the next value.
    std::unordered_map<std::string, SourceRange> seen;
  };

  static std::size_t offset_of(const YAML::Mark& mark) { return mark.pos < 0 ? 0 : static_cast<std::size_t>(mark.pos); }

  // Ends at the first blank: sufficient for null words and alias names.
  std::string plain_word(std::size_t offset) const {
    const std::string_view rest = text_.text().substr(std::min(offset, text_.text().size()));
    return std::string(rest.substr(0, rest.find_first_of(" \t\r\n,[]{}")));
  }

  SourceRange place_of_empty(std::size_t offset) const {
    if (!stack_.empty() && stack_.back().key) return stack_.back().key->where;
    return text_.at(offset);
  }

  bool is_quoted_or_block(std::size_t offset) const {
    return offset < text_.text().size() &&
           std::string_view("\"'|>").find(text_.text()[offset]) != std::string_view::npos;
  }

  void spend(std::size_t weight, SourceRange where, bool alias) {
    if (findings_.all().size() >= kMostYamlFindings) {
      findings_.error(where, "yaml.more-findings", "sparkplan stopped reading here, after so many errors",
                      "correct the errors above first");
      throw Stop{};
    }
    weight_ += weight;
    if (weight_ <= kLargestWeight) return;
    findings_.error(where, alias ? "yaml.alias-bomb" : "yaml.too-large",
                    alias ? "with its aliases expanded, the file has more than 100000 values"
                          : "the file has more than 100000 values",
                    alias ? "write out the values that you need" : "");
    throw Stop{};
  }

  void check_characters(const std::string& text, std::size_t offset, SourceRange where) {
    const std::size_t unfit = find_unfit_character(text);
    if (unfit == std::string::npos) return;
    if (text_.text().substr(offset, text.size()) == text) where = text_.at(offset + unfit);
    const bool control = code_point_at(text, unfit).value < 0xA0;
    findings_.error(where, control ? "yaml.control-character" : "yaml.reordering-character",
                    control ? "this value contains a control character"
                            : "this value contains a character that reorders text on a screen",
                    "delete it");
  }

  Value typed(const std::string& text, const std::string& tag, bool plain, SourceRange where) {
    if (tag == "?" && plain) {
      if (!is_key_next() && has_leading_zero(text)) {
        findings_.error(where, "yaml.leading-zero",
                        text + " without quotes is octal for some YAML parsers and decimal for others",
                        "write \"" + text + "\" in quotes for a file mode, or remove the zero");
        return Value(text);
      }
      return type_plain_scalar(text);
    }
    if (tag == "?" || tag == "!" || tag == std::string(kCoreTag) + "str") return Value(text);
    for (const std::string_view name : {"int", "float", "bool", "null"}) {
      if (tag == std::string(kCoreTag) + std::string(name)) return type_plain_scalar(text);
    }
    refuse_tag(tag, where);
    return Value(text);
  }

  void refuse_tag(const std::string& tag, SourceRange where) {
    findings_.error(where, "yaml.unknown-tag", "the tag " + in_quotes(tag) + " has no meaning here", "leave it out");
  }

  bool is_key_next() const { return !stack_.empty() && stack_.back().node.value.is_map() && !stack_.back().key; }

  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, Value empty) {
    const std::size_t offset = text_.content_start(offset_of(mark));
    Open level;
    level.anchor = anchor;
    level.node.value = std::move(empty);
    level.node.value.where = text_.at(offset);
    spend(1, level.node.value.where, false);
    if (stack_.size() >= kDeepest) {
      findings_.error(level.node.value.where, "yaml.too-deep", "values are nested more than 64 levels deep");
      throw Stop{};
    }
    if (tag != "?" && tag != "!" && tag != std::string(kCoreTag) + "seq" && tag != std::string(kCoreTag) + "map") {
      refuse_tag(tag, level.node.value.where);
    }
    stack_.push_back(std::move(level));
  }

  void close() {
    Node node = std::move(stack_.back().node);
    const YAML::anchor_t anchor = stack_.back().anchor;
    stack_.pop_back();
    finish(std::move(node), anchor);
  }

  void finish(Node node, YAML::anchor_t anchor) {
    if (anchor != 0) {
      spend(node.weight, node.value.where, true);  // The copy for later aliases.
      anchors_[anchor] = node;
    }
    if (stack_.empty()) {
      root_ = std::move(node.value);
      return;
    }
    Open& level = stack_.back();
    if (is_key_next()) {
      level.key = key_from(node, level);
      return;
    }
    level.node.weight += node.weight;
    if (auto* entries = level.node.value.entries()) {
      if (level.key && !level.key->ignored) {
        entries->push_back({std::move(level.key->name), std::move(node.value), level.key->where});
      }
      level.key.reset();
    } else {
      level.node.value.push_back(std::move(node.value));
    }
  }

  Key key_from(const Node& node, Open& level) {
    Key key{node.text.value_or(""), node.value.where, true};
    if (!node.text) {
      findings_.error(key.where, "yaml.key-not-text", "a key must be text",
                      node.value.is_map() ? "put a value that begins with \"{\" or contains \": \" in quotes" : "");
    } else if (key.name.size() > kLongestKey) {
      findings_.error(key.where, "yaml.key-too-long", "this key is longer than 500 bytes");
    } else if (node.plain && key.name == "<<") {
      findings_.error(key.where, "yaml.merge-key", "\"<<\" merges maps in YAML 1.1 only",
                      "write shared settings at the top level: every node inherits them");
    } else if (const auto [first, is_new] = level.seen.try_emplace(key.name, key.where); !is_new) {
      findings_.error(key.where, "yaml.duplicate-key", "the key " + in_quotes(key.name) + " is given twice",
                      "keep one of the two", {{"first given here", first->second}});
    } else {
      key.ignored = false;
    }
    return key;
  }

  const YamlText& text_;
  Findings& findings_;
  std::vector<Open> stack_;
  std::map<YAML::anchor_t, Node> anchors_;
  std::size_t weight_ = 0;
  int documents_ = 0;
  Value root_;
  std::optional<SourceRange> second_document_;
};

// std::istringstream would copy the text.
class ViewBuffer : public std::streambuf {
 public:
  explicit ViewBuffer(std::string_view text) {
    char* const begin = const_cast<char*>(text.data());  // setg() needs char*; no code writes through it.
    setg(begin, begin, begin + text.size());
  }
};

struct Wording {
  std::string_view theirs;
  std::string_view code;
  std::string_view message;
  std::string_view hint;
};

// yaml-cpp's messages name its own tokens; these name what the user sees in the file.
const std::array kWordings = {
    Wording{YAML::ErrorMsg::END_OF_MAP, "yaml.syntax", "this line does not fit the indentation of the lines above",
            "give all keys of a map the same indentation"},
    Wording{YAML::ErrorMsg::END_OF_SEQ, "yaml.syntax", "this line does not fit the list above",
            "begin each entry with \"- \" in the same column"},
    Wording{YAML::ErrorMsg::END_OF_MAP_FLOW, "yaml.syntax", "a \"{\" is not closed, or a comma is missing",
            "close it with \"}\""},
    Wording{YAML::ErrorMsg::END_OF_SEQ_FLOW, "yaml.syntax", "a \"[\" is not closed, or a comma is missing",
            "close it with \"]\""},
    Wording{YAML::ErrorMsg::FLOW_END, "yaml.syntax", "this bracket closes nothing", "delete it"},
    Wording{YAML::ErrorMsg::BLOCK_ENTRY, "yaml.syntax", "a list entry cannot begin here",
            "begin it on a line of its own, indented like the entries beside it"},
    Wording{YAML::ErrorMsg::MAP_KEY, "yaml.syntax", "a key cannot begin here",
            "begin it on a line of its own, indented like the keys beside it"},
    Wording{YAML::ErrorMsg::MAP_VALUE, "yaml.syntax", "a second \": \" in one line, or a wrong indentation",
            "put text that contains \": \" in quotes, and give all keys of a map the same indentation"},
    Wording{YAML::ErrorMsg::EOF_IN_SCALAR, "yaml.syntax", "a quote is not closed before the end of the file", ""},
    Wording{YAML::ErrorMsg::DOC_IN_SCALAR, "yaml.syntax", "a quote is not closed before the end of the document", ""},
    Wording{YAML::ErrorMsg::UNKNOWN_TOKEN, "yaml.syntax", "no value can begin with this character",
            "put the text in quotes"},
    Wording{YAML::ErrorMsg::TAB_IN_INDENTATION, "yaml.tab", "a tab cannot indent", "indent with spaces"},
    Wording{YAML::ErrorMsg::UNKNOWN_ANCHOR, "yaml.unknown-alias", "no anchor above defines this alias",
            "text that begins with \"*\" needs quotes"},
    Wording{YAML::ErrorMsg::ALIAS_NOT_FOUND, "yaml.syntax", "\"*\" begins an alias and needs a name",
            "text that begins with \"*\" needs quotes: \"*\""},
    Wording{YAML::ErrorMsg::CHAR_IN_ALIAS, "yaml.syntax", "\"*\" begins an alias, but this is not a valid name",
            "text that begins with \"*\" needs quotes"},
    Wording{YAML::ErrorMsg::ANCHOR_NOT_FOUND, "yaml.syntax", "\"&\" begins an anchor and needs a name",
            "text that begins with \"&\" needs quotes"},
    Wording{YAML::ErrorMsg::CHAR_IN_ANCHOR, "yaml.syntax", "\"&\" begins an anchor, but this is not a valid name",
            "text that begins with \"&\" needs quotes"},
    Wording{YAML::ErrorMsg::INVALID_ESCAPE, "yaml.syntax", "this is not a YAML escape sequence",
            "in double quotes write a backslash as \"\\\\\"; single quotes keep it as it is"},
};

void report(const YAML::Exception& failure, const YamlText& text, std::optional<SourceRange> open_place,
            Findings& findings) {
  const std::size_t offset = failure.mark.pos < 0 ? 0 : static_cast<std::size_t>(failure.mark.pos);
  if (const std::size_t tab = text.tab_in_indentation(offset); tab != std::string_view::npos) {
    findings.error(text.at(tab), "yaml.tab", "a tab cannot indent", "indent with spaces");
    return;
  }
  for (const Wording& wording : kWordings) {
    if (!std::string_view(failure.msg).starts_with(wording.theirs)) continue;
    std::vector<DiagnosticNote> notes;
    const bool unclosed =
        wording.theirs == YAML::ErrorMsg::END_OF_MAP_FLOW || wording.theirs == YAML::ErrorMsg::END_OF_SEQ_FLOW;
    if (unclosed && open_place) notes.push_back({"opened here", *open_place});
    findings.error(text.at(offset), std::string(wording.code), std::string(wording.message), std::string(wording.hint),
                   std::move(notes));
    return;
  }
  findings.error(text.at(offset), "yaml.syntax", "this is not YAML: " + printable(failure.msg));
}

bool check_token_characters(std::string_view text, const YamlText& lines, Findings& findings) {
  const auto is_one = [](char c) { return kTokenCharacters.find(c) != std::string_view::npos; };
  std::ptrdiff_t left = kMostTokenCharacters;
  const auto one_too_many = std::find_if(text.begin(), text.end(), [&](char c) { return is_one(c) && left-- == 0; });
  if (one_too_many == text.end()) return true;
  findings.error(lines.at(static_cast<std::size_t>(one_too_many - text.begin())), "yaml.too-large",
                 "the file has more than 300000 commas and opening brackets",
                 "keep long texts in files beside it: files: [{path: ..., source: ...}]");
  return false;
}

void report_second_document(SourceRange where, Findings& findings) {
  findings.error(where, "yaml.several-documents", "a second document begins here",
                 "keep one document: \"---\" is allowed only before it");
}

}  // namespace

YamlDocument read_yaml(std::string_view text, Findings& findings) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  if (!check_bytes(text, findings)) return {};
  const YamlText lines(text);
  if (!check_token_characters(text, lines, findings)) return {};
  TreeBuilder builder(lines, findings);
  try {
    ViewBuffer buffer(text);
    std::istream stream(&buffer);
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const Stop&) {
    if (!builder.second_document()) return {};
    report_second_document(*builder.second_document(), findings);
  } catch (const YAML::Exception& failure) {
    report(failure, lines, builder.open_place(), findings);
    return {};
  } catch (const std::exception& failure) {
    findings.error({1, 1, 2}, "yaml.unreadable", "the file cannot be read: " + printable(failure.what()));
    return {};
  }
  return {builder.take_root(), true};
}

}  // namespace sparkplan
