#pragma once

#include <string>

namespace sparkplan {

/// 32 random hexadecimal digits, for OpenReceiverRequest::token.
std::string new_token();

}  // namespace sparkplan
