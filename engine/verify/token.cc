#include "engine/verify/token.h"

#include <algorithm>

#include "engine/fleet/run_identity.h"

namespace sparkplan {

std::string new_token() {
  std::string token = new_uuid();
  std::erase(token, '-');
  return token;
}

}  // namespace sparkplan
