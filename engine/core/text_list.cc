#include "engine/core/text_list.h"
#include "engine/core/tree.h"

namespace sparkplan {

std::vector<std::string> texts_in(const Value* list) {
  std::vector<std::string> texts;
  for (const Value& item : items_of(list)) {
    if (item.string() != nullptr) texts.push_back(*item.string());
  }
  return texts;
}

Value list_of_texts(const std::vector<std::string>& texts) {
  Value list(Value::List{});
  for (const std::string& text : texts) list.push_back(text);
  return list;
}

}  // namespace sparkplan
