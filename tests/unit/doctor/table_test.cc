#include "engine/doctor/doctor_table.h"

#include <set>

#include "engine/core/text.h"
#include "tests/support/catch.h"

namespace sparkplan {

TEST_CASE("every row of the doctor's table is complete and has a unique id") {
  std::set<std::string_view> ids;
  for (const DoctorRow& row : kDoctorTable) {
    INFO(row.id);
    CHECK(ids.insert(row.id).second);
    for (const auto text : {row.id, row.symptom, row.cause, row.fix, row.read, row.where}) {
      CHECK_FALSE(text.empty());
      CHECK(printable(text) == text);
      CHECK_FALSE(text.ends_with('.'));
    }
  }
}

TEST_CASE("a row's id is checked at compile time") {
  static_assert(RowId("link-mtu")->id == "link-mtu");
  static_assert(RowId("link-mtu") != RowId("link-down"));
  static_assert(!RowId());
}

}  // namespace sparkplan
