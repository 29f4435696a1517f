#include "engine/domain/storage/nvme_address.h"

#include "engine/core/text.h"

namespace sparkplan {

std::string part_of_nvme_address(std::string_view address, std::string_view key) {
  for (const std::string_view part : split(trim(address), ',')) {
    const auto equals = part.find('=');
    if (equals != std::string_view::npos && trim(part.substr(0, equals)) == key)
      return std::string(part.substr(equals + 1));
  }
  return {};
}

}  // namespace sparkplan
