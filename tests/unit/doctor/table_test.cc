#include "engine/doctor/doctor_table.h"

#include <set>

#include "engine/core/text.h"
#include "tests/support/catch.h"

namespace sparkplan {

TEST_CASE("every row of the doctor's table says all there is to say, under a name of its own") {
  std::set<std::string_view> ids;
  REQUIRE_FALSE(doctor_table().empty());
  for (const DoctorRow& row : doctor_table()) {
    INFO(row.id);
    CHECK(ids.insert(row.id).second);
    for (const auto text : {row.id, row.symptom, row.cause, row.fix, row.read, row.where}) {
      CHECK_FALSE(text.empty());
      CHECK(printable(text) == text);
      CHECK_FALSE(text.ends_with('.'));
    }
    CHECK(&doctor_row(row.id) == &row);
  }
}

}  // namespace sparkplan
