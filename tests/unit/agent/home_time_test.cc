#include "engine/agent/node/home_time.h"

#include "tests/support/catch.h"

namespace sparkplan {
namespace {

using std::chrono::milliseconds;

UserPath home_of(const std::string& user, const std::string& served_by) {
  return {"/home/" + user, ".ssh/authorized_keys", {}, served_by};
}

/// The longest that a home can take: it answers none of its accesses, and the kernel does not let their processes end.
milliseconds take_all(HomeTime& time, const UserPath& path) {
  milliseconds all{0};
  const auto take = [&](milliseconds deadline) {
    const milliseconds with_end = deadline + deadline / 4;
    time.add(path, with_end);
    all += with_end;
  };
  const milliseconds deadline = time.left_for(path.home);
  take(deadline);
  if (time.shows_silence(deadline)) take(time.for_home_itself());
  return all;
}

}  // namespace

TEST_CASE("home time: a home that answers late again and again ends with its own share") {
  HomeTime time(milliseconds(20'000));
  const UserPath slow = home_of("slow", "nfs4 10.0.0.66:/home/slow");
  CHECK(time.left_for(slow.home) == milliseconds(2500));
  time.add(slow, milliseconds(2000));
  CHECK(time.left_for(slow.home) == milliseconds(500));
  time.add(slow, milliseconds(400));
  CHECK(time.left_for(slow.home) == milliseconds(100));
  time.add(slow, milliseconds(120));
  CHECK(time.left_for(slow.home) < milliseconds(0));
  CHECK(time.left_for("/home/zoe") == milliseconds(17'480 / 8));
}

TEST_CASE("home time: dozens of silent homes leave time for each other one, and end long before the request") {
  HomeTime time(kTimeOfAllHomes);
  milliseconds all{0};
  for (int i = 0; i < 8; ++i) all += take_all(time, home_of("mallory" + std::to_string(i), "fuse"));
  CHECK(time.left_for("/home/zoe") > milliseconds(300));
  for (int i = 8; i < 99; ++i) all += take_all(time, home_of("mallory" + std::to_string(i), "fuse"));
  CHECK(time.left_for("/home/zoe") == milliseconds(200));
  CHECK(all < std::chrono::seconds(45));
}

TEST_CASE("home time: a short wait is no silence") {
  const HomeTime time(kTimeOfAllHomes);
  CHECK(time.shows_silence(time.left_for("/home/zoe")));
  CHECK_FALSE(time.shows_silence(milliseconds(200)));
}

TEST_CASE("home time: the error of a home without time names the homes that took it, and their servers") {
  HomeTime time(milliseconds(20'000));
  const UserPath zoe = home_of("zoe", "nfs4 honest:/home/zoe");
  const UserPath yan = home_of("yan", "nfs4 honest:/home/yan");
  const UserPath first = home_of("a1", "nfs4 10.0.0.66:/home/a1");
  const UserPath second = home_of("a2", "nfs4 10.0.0.66:/home/a2");
  time.add(yan, milliseconds(90));
  time.add(first, milliseconds(2130));
  time.add(second, milliseconds(2500));
  time.add(zoe, milliseconds(250));
  const Error error = time.used_up(zoe);
  CHECK(error.code == ErrorCode::kUnreachable);
  CHECK(error.message ==
        "/home/zoe is on nfs4 honest:/home/zoe, and accesses to it have taken 0.2 s, its share of the time for homes; "
        "the longest of the others: /home/a2 (2.5 s, on nfs4 10.0.0.66:/home/a2), "
        "/home/a1 (2.1 s, on nfs4 10.0.0.66:/home/a1)");

  HomeTime alone(milliseconds(20'000));
  alone.add(yan, milliseconds(90));
  alone.add(first, milliseconds(2600));
  CHECK(alone.used_up(first).message ==
        "/home/a1 is on nfs4 10.0.0.66:/home/a1, and accesses to it have taken 2.6 s, its share of the time for homes");
}

}  // namespace sparkplan
