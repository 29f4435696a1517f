#include "engine/core/result.h"

#include <cerrno>
#include <set>

#include "tests/support/catch.h"

namespace sparkplan {
namespace {

Result<int> doubled(Result<int> number) {
  SPARK_TRY(const int value, std::move(number));
  return value * 2;
}

Result<int> checked(const Result<int>& number) {
  SPARK_CHECK(number);
  return 7;
}

TEST_CASE("Every error code has a unique name and is restored from it") {
  std::set<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(ErrorCode::kBug); ++i) {
    const auto code = static_cast<ErrorCode>(i);
    CHECK(value_named<ErrorCode>(to_string(code)) == code);
    names.insert(to_string(code));
  }
  CHECK(names.size() == static_cast<std::size_t>(ErrorCode::kBug) + 1);
}

TEST_CASE("The wire names of error codes never change") {
  CHECK(to_string(ErrorCode::kInvalidInput) == "invalid_input");
  CHECK(to_string(ErrorCode::kStalePlan) == "stale_plan");
  CHECK_FALSE(value_named<ErrorCode>("kBusy"));
  CHECK_FALSE(value_named<ErrorCode>(""));
}

TEST_CASE("Context is added outside, and the hint is not part of the description") {
  Error error = system_error("write /proc/sys/vm/swappiness", EINVAL);
  error.hint = "try another value";
  error = std::move(error).within("sysctl vm.swappiness");
  error = std::move(error).within("node spark-03");
  CHECK(error.context == std::vector<std::string>{"node spark-03", "sysctl vm.swappiness"});
  CHECK(error.describe() == "node spark-03: sysctl vm.swappiness: write /proc/sys/vm/swappiness: Invalid argument");
}

TEST_CASE("A place or a reason that two layers add is described once") {
  Error error = system_error("open /etc/x: Permission denied", EACCES);
  error = std::move(error).within("spark-03").within("spark-03");
  CHECK(error.describe() == "spark-03: open /etc/x: Permission denied");
  error.message = "spark-03: open /etc/x";
  CHECK(error.describe() == "spark-03: open /etc/x: Permission denied");
  // A word that follows at another place is no repetition.
  error.context = {"a", "b", "a"};
  error.message = "aa: open";
  CHECK(error.describe() == "a: b: a: aa: open: Permission denied");
}

TEST_CASE("An error without context and errno is described by its message") {
  CHECK(Error{ErrorCode::kRefused, "no", {}, std::nullopt, {}}.describe() == "no");
}

TEST_CASE("A failed system call has the error code for its errno") {
  CHECK(system_error("x", ENOENT).code == ErrorCode::kNotFound);
  CHECK(system_error("x", EACCES).code == ErrorCode::kPermissionDenied);
  CHECK(system_error("x", EPERM).code == ErrorCode::kPermissionDenied);
  CHECK(system_error("x", ETIMEDOUT).code == ErrorCode::kUnreachable);
  CHECK(system_error("x", EAGAIN).code == ErrorCode::kBusy);
  CHECK(system_error("x", EOPNOTSUPP).code == ErrorCode::kUnsupported);
  CHECK(system_error("x", EINVAL).code == ErrorCode::kFailed);
  CHECK(system_error("x", ENOSPC).code == ErrorCode::kFailed);
  CHECK(system_error("x", ENOSPC).sys_errno == ENOSPC);
}

TEST_CASE("SPARK_TRY binds the value or returns the error") {
  CHECK(doubled(21) == 42);
  const auto failed = doubled(failure(ErrorCode::kBusy, "locked", "wait"));
  REQUIRE_FALSE(failed);
  CHECK(failed.error() == Error{ErrorCode::kBusy, "locked", {}, std::nullopt, "wait"});
}

TEST_CASE("SPARK_CHECK returns the error, or continues") {
  CHECK(checked(1) == 7);
  const auto failed = checked(failure(ErrorCode::kBusy, "locked"));
  REQUIRE_FALSE(failed);
  CHECK(failed.error().code == ErrorCode::kBusy);
}

}  // namespace
}  // namespace sparkplan
