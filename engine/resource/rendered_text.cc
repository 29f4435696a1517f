#include "engine/resource/rendered_text.h"

namespace sparkplan {

void RenderedText::add(std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts) {
    if (is_full()) return;
    text_ += part.substr(0, most_ + 1 - text_.size());
  }
}

void RenderedText::add_quoted(std::string_view text) {
  add({"'"});
  for (std::size_t quote = text.find('\''); quote != std::string_view::npos && !is_full(); quote = text.find('\'')) {
    add({text.substr(0, quote), "'\\''"});
    text.remove_prefix(quote + 1);
  }
  add({text, "'"});
}

}  // namespace sparkplan
