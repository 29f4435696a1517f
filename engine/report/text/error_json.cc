#include "engine/report/text/error_json.h"

namespace sparkplan {

Value to_json_value(const Error& error) {
  return Value::map({{"code", to_string(error.code)}, {"message", error.describe()}, {"hint", error.hint}});
}

}  // namespace sparkplan
