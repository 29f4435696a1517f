#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "engine/cli/reference/reference.h"
#include "engine/core/text.h"
#include "engine/wire/copy_messages.h"
#include "engine/wire/job_messages.h"
#include "engine/wire/messages.h"
#include "engine/wire/nccl_messages.h"

namespace sparkplan {
namespace {

constexpr std::string_view kProtocolHead = R"(<!-- Made from the program: cmake --build build --target reference -->
# The protocol between controller and agent

The controller starts the agent over SSH and exchanges messages with it on standard input and output. This page lists
every message and record. It follows from the functions `list_fields()` in `engine/model` and `engine/wire`, which also
encode and decode.

- Both sides send a preamble once. What comes before it, such as the output of a login shell, is ignored.
- A frame is a length of 4 bytes, most significant byte first, and that many bytes of JSON. Limits are in
  `engine/wire/frame.h`.
- The agent sends `{"hello": {...}}` first. A peer with another `protocol_major` is refused.
- A request is a map with its name in `request`, a number in `id`, and its fields. An agent refuses a request with an
  unknown field, because the field may be a condition.
- The reply is `{"id": n, "reply": ...}` or `{"id": n, "error": {...}}`. `{"id": n, "progress": "..."}` may come before.
- `known_rosters` of a facts request offers rosters that the controller has already received in this run, by SHA-256 of
  their JSON without blanks. A node with one of them sends its digest in `known_roster` and an empty `roster`. A digest
  that this request did not offer makes the reply invalid. Agents know the field from `protocol_minor` 5 on.
- `patience_ms` of a facts request ends an agent without the lock after that time without a request. Without the field
  it is an hour. Agents know the field from `protocol_minor` 8 on.
- `senders` of the request for link probes has the SHA-256 of the random name of each node that has sent. An agent drops
  probes with other names. Without the field it drops none. Agents know the field from `protocol_minor` 9 on.
- Unknown fields of a reply are ignored. An absent field has the default of its struct.
- A field of the wrong kind or out of its bounds makes the message invalid. "cut" marks texts that are cut instead.
- A text without a bound, and a key of a map, has at most 8192 bytes. The bound of a list also holds for lists in it.

To add a message: write its struct with `kName` and `Reply` and its `list_fields()`, add it to `Request` in
`engine/wire/messages.h`, and write `AgentSession::handle()` for it, without which the agent does not compile. The
controller sends it with `AgentClient::call()`.

)";

struct Row {
  std::string field;
  std::string kind;
  std::string notes;
};

struct Record {
  std::string name;
  std::vector<Row> rows;
};

std::string name_of(const std::type_info& type) {
  if (type == typeid(Observation)) return "Observation";
  if (type == typeid(Result<RdmaWritten>)) return "RdmaResult";
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> readable(abi::__cxa_demangle(type.name(), nullptr, nullptr, &status),
                                                        std::free);
  const std::string name = status == 0 ? readable.get() : type.name();
  constexpr std::string_view kNamespace = "sparkplan::";
  return name.starts_with(kNamespace) ? name.substr(kNamespace.size()) : name;
}

std::string code(std::string_view text) { return "`" + std::string(text) + "`"; }

/// Collects the fields of each visited struct and of the structs in it, each struct once.
class RecordCollector final : public FieldVisitor {
 public:
  RecordCollector() : FieldVisitor(Mode::kDescribe) {}

  /// The kind that a field of type `T` has.
  template <class T>
  std::string kind_of() {
    T object{};
    open_.push_back({"", kOptional, ""});
    visit(object, kOptional);
    std::string kind = std::move(open_.back().kind);
    open_.pop_back();
    return kind;
  }
  const std::vector<Record>& records() const { return records_; }

  void check(std::string_view key, bool /*holds*/, std::string_view requirement) override {
    for (Row& row : records_[sections_.back()].rows) {
      if (row.field == code(key)) add(row.notes, requirement);
    }
  }

 private:
  struct Open {
    std::string key;  ///< Empty for an item of a list or an entry of a map.
    FieldRule rule;
    std::string kind;
  };

  static void add(std::string& notes, std::string_view note) {
    notes += (notes.empty() ? "" : "; ") + std::string(note);
  }

  bool enter(std::string_view key, const FieldRule& rule, bool /*none*/) override {
    open_.push_back({std::string(key), rule, ""});
    return true;
  }
  void enter_item(std::size_t /*index*/) override { open_.push_back({"", kOptional, ""}); }
  void enter_entry(std::size_t /*index*/, const std::string& /*key*/) override { open_.push_back({"", kOptional, ""}); }
  void leave() override {
    const Open closed = std::move(open_.back());
    open_.pop_back();
    if (closed.key.empty()) {
      open_.back().kind += " of " + closed.kind;
      return;
    }
    Row row{code(closed.key), closed.kind, ""};
    if (!alternative_.empty()) add(row.notes, "of " + code(alternative_));
    if (closed.rule.required) add(row.notes, "required");
    if (closed.rule.null_for_none) add(row.notes, "null for none");
    records_[sections_.back()].rows.push_back(std::move(row));
  }

  bool begin_struct(const std::type_info& type) override {
    const std::string name = name_of(type);
    open_.back().kind = code(name);
    const auto is_same = [&](const Record& one) { return one.name == name; };
    if (std::any_of(records_.begin(), records_.end(), is_same)) return false;
    sections_.push_back(records_.size());
    outer_alternatives_.push_back(std::exchange(alternative_, ""));
    records_.push_back({name, {}});
    return true;
  }
  void end_struct() override {
    sections_.pop_back();
    alternative_ = std::move(outer_alternatives_.back());
    outer_alternatives_.pop_back();
  }
  void begin_alternative(std::string_view name) override { alternative_ = name; }

  std::size_t begin_list(std::size_t /*size*/, const FieldRule& rule) override {
    open_.back().kind = "list" + most(rule);
    return 1;
  }
  std::size_t begin_map(std::size_t size, const FieldRule& rule) override {
    open_.back().kind = "map" + most(rule);
    return size;
  }
  bool null(bool /*none*/) override { return false; }

  void text(std::string& /*text*/, const FieldRule& rule) override {
    std::string kind = "text";
    if (rule.longest != FieldRule::kLongestText) kind += " up to " + std::to_string(rule.longest) + " bytes";
    if (rule.is_printable) kind += ", printable";
    if (rule.is_cut) kind += ", cut";
    open_.back().kind = kind;
  }
  void boolean(bool& /*boolean*/) override { open_.back().kind = "true/false"; }
  void integer(std::int64_t& /*number*/, const FieldRule& rule) override {
    using Wide = std::numeric_limits<std::int64_t>;
    using Narrow = std::numeric_limits<int>;
    std::string kind = "integer";
    if (rule.least == Narrow::min() && rule.most == Narrow::max()) {
      kind += " of 32 bits";
    } else if (rule.least != Wide::min() && rule.most == Wide::max()) {
      kind += " from " + std::to_string(rule.least);
    } else if (rule.least != Wide::min()) {
      kind += " from " + std::to_string(rule.least) + " to " + std::to_string(rule.most);
    }
    open_.back().kind = kind;
  }
  void real(double& /*number*/) override { open_.back().kind = "number"; }
  void any(Value& /*value*/) override { open_.back().kind = "any"; }
  void one_of(std::size_t& /*index*/, std::span<const std::string_view> names) override {
    std::vector<std::string> quoted;
    for (const std::string_view name : names) quoted.push_back(code(name));
    open_.back().kind = join(quoted, ", ");
  }

  static std::string most(const FieldRule& rule) {
    const bool unbounded = rule.most_items == std::numeric_limits<std::size_t>::max();
    return unbounded ? "" : " (at most " + std::to_string(rule.most_items) + ")";
  }

  std::vector<Record> records_;
  std::vector<std::size_t> sections_;  ///< Indexes into `records_`, from the outermost struct inwards.
  std::vector<Open> open_;
  std::string alternative_;
  std::vector<std::string> outer_alternatives_;
};

std::string table(const std::vector<Row>& rows) {
  if (rows.empty()) return "No fields.\n";
  std::string text = "| field | kind | notes |\n|---|---|---|\n";
  for (const Row& row : rows) text += "| " + row.field + " | " + row.kind + " | " + row.notes + " |\n";
  return text;
}

/// The messages of one direction, each with its fields and the reply; then the records in them.
class ProtocolPage {
 public:
  ProtocolPage() { collector_.kind_of<Hello>(); }

  template <class... Messages>
  void add_messages(std::string_view title, const std::variant<Messages...>& /*all*/) {
    text_ += "## " + std::string(title) + "\n\n";
    (add_message<Messages>(), ...);
  }

  std::string text() && {
    text_ += "## Records\n\n";
    for (std::size_t i = 0; i < collector_.records().size(); ++i) {
      const Record& record = collector_.records()[i];
      if (std::find(messages_.begin(), messages_.end(), record.name) != messages_.end()) continue;
      text_ += "### " + record.name + "\n\n" + table(record.rows) + "\n";
    }
    text_.pop_back();
    return std::move(text_);
  }

 private:
  template <class Message>
  void add_message() {
    const std::string kind = collector_.kind_of<Message>();
    const std::string name = kind.substr(1, kind.size() - 2);
    messages_.push_back(name);
    text_ += "### " + std::string(Message::kName) + "\n\n" + kind + ".";
    if constexpr (requires { typename Message::Reply; }) text_ += " Reply: " + reply_of<Message>() + ".";
    const auto is_it = [&](const Record& one) { return one.name == name; };
    const auto found = std::find_if(collector_.records().begin(), collector_.records().end(), is_it);
    text_ += "\n\n" + table(found->rows) + "\n";
  }

  template <class Message>
  std::string reply_of() {
    if constexpr (std::is_void_v<typename Message::Reply>) {
      return "an empty map";
    } else {
      const bool may_be_null = requires(typename Message::Reply reply) { reply.reset(); };
      return collector_.kind_of<typename Message::Reply>() + (may_be_null ? " or null" : "");
    }
  }

  std::string text_{kProtocolHead};
  RecordCollector collector_;
  std::vector<std::string> messages_;
};

}  // namespace

std::string markdown_of_protocol() {
  ProtocolPage page;
  page.add_messages("Requests", Request());
  page.add_messages("NCCL test: commands to a rank (`command`)", RankCommand());
  page.add_messages("NCCL test: answers of a rank (`answer`)", RankAnswer());
  page.add_messages("Jobs: commands to the process starter (`command`)", JobCommand());
  page.add_messages("Jobs: answers of the process starter (`answer`)", JobAnswer());
  page.add_messages("Directories: commands to sparkplan-copy (`command`)", CopyCommand());
  page.add_messages("Directories: answers of sparkplan-copy (`answer`)", CopyAnswer());
  return std::move(page).text();
}

}  // namespace sparkplan
