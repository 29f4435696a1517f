#include "tests/support/page_rules.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace sparkplan::test {
namespace {

const std::set<std::string, std::less<>> kElements{
    "html", "head", "meta", "title",   "style",   "body",   "a",    "header",  "h1",      "h2",      "h3",    "p",
    "nav",  "ul",   "li",   "main",    "section", "footer", "span", "div",     "table",   "caption", "thead", "tbody",
    "tr",   "th",   "td",   "article", "dl",      "dt",     "dd",   "details", "summary", "pre",     "code",  "br",
    "svg",  "desc", "g",    "line",    "rect",    "text",   "path", "circle",  "polygon"};
const std::set<std::string, std::less<>> kAttributes{
    "lang",        "charset", "http-equiv", "content",  "name",  "class",   "href",  "aria-label", "aria-labelledby",
    "aria-hidden", "id",      "role",       "tabindex", "scope", "viewBox", "width", "height",     "xmlns",
    "x",           "y",       "x1",         "y1",       "x2",    "y2",      "rx",    "d",          "cx",
    "cy",          "r",       "points"};

struct Tag {
  std::string name;
  std::vector<std::pair<std::string, std::string>> attributes;
  bool closes = false;
  bool is_empty = false;

  std::string value_of(std::string_view attribute) const {
    for (const auto& [name_of, value] : attributes) {
      if (name_of == attribute) return value;
    }
    return "";
  }
};

/// All tags of the text; a complaint for what is none.
class Tags {
 public:
  explicit Tags(const std::string& text) : text_(text) {
    while (true) {
      at_ = text_.find('<', at_);
      if (at_ == std::string::npos) return;
      ++at_;
      if (text_.compare(at_, 8, "!DOCTYPE") == 0) continue;
      read();
      if (!found.empty() && found.back().name == "style" && !found.back().closes) at_ = text_.find("</style>", at_);
    }
  }

  std::vector<Tag> found;
  std::string complaints;

 private:
  static bool is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
  }
  char now() const { return at_ < text_.size() ? text_[at_] : '>'; }
  std::string name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_name(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  void read() {
    Tag tag;
    if (now() == '/') tag.closes = true, ++at_;
    tag.name = name();
    while (now() == ' ') {
      ++at_;
      std::string attribute = name();
      if (text_.compare(at_, 2, "=\"") != 0) {
        complaints += "an attribute of " + tag.name + " has no value\n";
        return;
      }
      const std::size_t begin = at_ + 2;
      at_ = std::min(text_.find('"', begin), text_.size());
      tag.attributes.emplace_back(std::move(attribute), text_.substr(begin, at_ - begin));
      ++at_;
    }
    if (now() == '/') tag.is_empty = true, ++at_;
    if (now() != '>') complaints += "a tag of " + tag.name + " does not end\n";
    found.push_back(std::move(tag));
  }

  const std::string& text_;
  std::size_t at_ = 0;
};

std::string complaints_about_ids(const std::vector<Tag>& tags) {
  std::string complaints;
  std::set<std::string> ids;
  for (const Tag& tag : tags) {
    const std::string id = tag.value_of("id");
    if (!id.empty() && !ids.insert(id).second) complaints += "the id " + id + " is there twice\n";
  }
  for (const Tag& tag : tags) {
    std::string rest = tag.value_of("aria-labelledby");
    if (const std::string href = tag.value_of("href"); !href.empty()) {
      if (href[0] != '#') complaints += "a link leads out of the page: " + href + "\n";
      rest += " " + href.substr(1);
    }
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      const std::string id = rest.substr(0, end);
      if (!id.empty() && !ids.contains(id)) complaints += "there is no id " + id + "\n";
      rest = rest.substr(std::min(end + 1, rest.size()));
    }
  }
  return complaints;
}

std::string complaints_about(const std::vector<Tag>& tags) {
  std::string complaints;
  std::vector<std::string> open;
  for (const Tag& tag : tags) {
    if (!kElements.contains(tag.name)) complaints += "an element " + tag.name + "\n";
    for (const auto& [name, value] : tag.attributes) {
      if (!kAttributes.contains(name)) complaints += "an attribute " + name + "\n";
    }
    if (tag.closes) {
      if (open.empty() || open.back() != tag.name) return complaints + tag.name + " is closed out of order\n";
      open.pop_back();
    } else if (!tag.is_empty) {
      open.push_back(tag.name);
    }
  }
  if (!open.empty()) complaints += open.back() + " is not closed\n";
  return complaints + complaints_about_ids(tags);
}

std::string complaints_about_structure(const std::vector<Tag>& tags) {
  std::string complaints;
  std::set<std::string> seen;
  int rank = 0;
  for (std::size_t at = 0; at < tags.size(); ++at) {
    const Tag& tag = tags[at];
    if (tag.closes) continue;
    seen.insert(tag.name);
    if (tag.name.size() == 2 && tag.name[0] == 'h' && tag.name[1] >= '1' && tag.name[1] <= '6') {
      if (tag.name[1] - '0' > rank + 1) complaints += "a heading skips a rank: " + tag.name + "\n";
      rank = tag.name[1] - '0';
    }
    if (tag.name == "table" && (at + 1 == tags.size() || tags[at + 1].name != "caption")) {
      complaints += "a table has no caption\n";
    }
    if (tag.name == "th" && tag.value_of("scope").empty()) complaints += "a heading of a table has no scope\n";
    if (tag.name == "html" && tag.value_of("lang").empty()) complaints += "no language\n";
    if (tag.name == "svg" && tag.value_of("aria-labelledby").empty() && tag.value_of("aria-label").empty()) {
      complaints += "a drawing has no name\n";
    }
  }
  for (const char* name : {"html", "title", "header", "nav", "main", "footer", "h1"}) {
    if (!seen.contains(name)) complaints += std::string("there is no ") + name + "\n";
  }
  return complaints;
}

}  // namespace

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

std::string complaints_about_markup(const std::string& text) {
  const Tags tags(text);
  return tags.complaints + complaints_about(tags.found);
}

std::string complaints_about_page(const std::string& page) {
  const Tags tags(page);
  std::string complaints = tags.complaints + complaints_about(tags.found) + complaints_about_structure(tags.found);
  for (const char* part : {"<script", "javascript:", "url(", "@import", "http://", "https://", "xlink"}) {
    if (page.find(part) != std::string::npos) complaints += std::string("it contains ") + part + "\n";
  }
  return complaints;
}

}  // namespace sparkplan::test
