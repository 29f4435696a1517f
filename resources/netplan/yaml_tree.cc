#include "resources/netplan/netplan_file.h"

#include <yaml.h>

namespace sparkplan::netplan {
namespace {

constexpr int kMaxNodes = 100'000;
constexpr int kMaxDepth = 64;

tl::unexpected<Error> broken(std::size_t line, std::string message) {
  return failure(Error{ErrorCode::kInvalidInput, std::move(message), {"line " + std::to_string(line + 1)}, {}, {}});
}

class Parser {
 public:
  explicit Parser(std::string_view text) {
    yaml_parser_initialize(&parser_);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
    loaded_ = yaml_parser_load(&parser_, &document_) == 1;
  }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;
  ~Parser() {
    if (loaded_) yaml_document_delete(&document_);
    yaml_parser_delete(&parser_);
  }

  Result<Value> tree() {
    if (!loaded_) {
      return broken(parser_.problem_mark.line, parser_.problem == nullptr ? "not YAML" : std::string(parser_.problem));
    }
    yaml_node_t* root = yaml_document_get_root_node(&document_);
    if (root == nullptr) return Value();
    return value_of(*root, 0);
  }

 private:
  static std::string text_of(const yaml_node_t& node) {
    return {reinterpret_cast<const char*>(node.data.scalar.value), node.data.scalar.length};
  }

  Result<Value> value_of(const yaml_node_t& node, int depth) {
    const std::size_t line = node.start_mark.line;
    if (++nodes_ > kMaxNodes || depth > kMaxDepth) return broken(line, "too large or too deep for a netplan file");
    Value value;
    if (node.type == YAML_SCALAR_NODE) {
      value = text_of(node);
    } else if (node.type == YAML_SEQUENCE_NODE) {
      SPARK_TRY(value, list_of(node, depth));
    } else if (node.type == YAML_MAPPING_NODE) {
      SPARK_TRY(value, map_of(node, depth));
    }
    value.where = {static_cast<int>(line) + 1, static_cast<int>(node.start_mark.column) + 1,
                   static_cast<int>(node.start_mark.column) + 1};
    return value;
  }

  Result<Value> list_of(const yaml_node_t& node, int depth) {
    Value::List items;
    for (const auto* item = node.data.sequence.items.start; item < node.data.sequence.items.top; ++item) {
      SPARK_TRY(auto value, value_of(*yaml_document_get_node(&document_, *item), depth + 1));
      items.push_back(std::move(value));
    }
    return Value(std::move(items));
  }

  Result<Value> map_of(const yaml_node_t& node, int depth) {
    Value map = Value::map();
    for (const auto* pair = node.data.mapping.pairs.start; pair < node.data.mapping.pairs.top; ++pair) {
      const yaml_node_t& key = *yaml_document_get_node(&document_, pair->key);
      if (key.type != YAML_SCALAR_NODE) return broken(key.start_mark.line, "a key is not text");
      SPARK_TRY(auto value, value_of(*yaml_document_get_node(&document_, pair->value), depth + 1));
      const int line = static_cast<int>(key.start_mark.line) + 1;
      if (!value.is_map()) value.where.line = line;
      map.set(text_of(key), std::move(value));
      map.entries()->back().key_where = {line, static_cast<int>(key.start_mark.column) + 1, 0};
    }
    return map;
  }

  yaml_parser_t parser_{};
  yaml_document_t document_{};
  bool loaded_ = false;
  int nodes_ = 0;
};

}  // namespace

Result<Value> parse_yaml(std::string_view text) { return Parser(text).tree(); }

}  // namespace sparkplan::netplan
