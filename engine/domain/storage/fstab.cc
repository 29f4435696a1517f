#include "engine/domain/storage/fstab.h"

#include <utility>

#include "engine/core/text.h"
#include "engine/node/mount_table.h"

namespace sparkplan {

std::vector<FstabLine> parse_fstab(std::string_view text) {
  std::vector<FstabLine> lines;
  int number = 0;
  for (const std::string_view line : split_lines(text)) {
    ++number;
    const auto words = words_of(line);
    if (words.size() < 2 || words[0].starts_with('#')) continue;
    std::string target = without_octal(words[1]);
    while (target.size() > 1 && target.ends_with('/')) target.pop_back();
    FstabLine one{number, without_octal(words[0]), std::move(target), {}, {}};
    if (words.size() > 2) one.type = words[2];
    if (words.size() > 3) {
      for (const std::string_view option : split(words[3], ',')) one.options.push_back(without_octal(option));
    }
    lines.push_back(std::move(one));
  }
  return lines;
}

}  // namespace sparkplan
