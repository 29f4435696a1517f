#include "engine/agent/measure/measurements.h"

#include "tests/support/catch.h"

namespace sparkplan {

TEST_CASE("kernel log: an Xid that the kernel logged is found") {
  GpuErrorsReply reply;
  note_record(
      "4,812,5140900,-;NVRM: Xid (PCI:0000:01:00): 79, pid=1234, name=python3, GPU has fallen off the bus.\n"
      " SUBSYSTEM=pci\n",
      reply);
  REQUIRE(reply.errors.size() == 1);
  CHECK(reply.count == 1);
  CHECK(reply.errors[0].xid == 79);
  CHECK(reply.errors[0].line == "NVRM: Xid (PCI:0000:01:00): 79, pid=1234, name=python3, GPU has fallen off the bus.");
}

TEST_CASE("kernel log: other records and records of programs have no Xid") {
  GpuErrorsReply reply;
  for (const char* record : {
           "6,1,2,-;NVRM: loading NVIDIA UNIX Open Kernel Module",
           "12,1,2,-;NVRM: Xid (PCI:0000:01:00): 79, written by a program to /dev/kmsg",
           "4,1,2,-;a program named NVRM: Xid (PCI:0000:01:00): 79, was killed",
           "4,1,2,-;NVRM: Xid (PCI:0000:01:00): none, x",
           "4,1,2,-;NVRM: Xid (PCI:0000:01:00): 99999999999999999999, x",
           "4,1,2,-;NVRM: Xid (PCI:0000:01:00): -4, x",
           "4,1,2,-;NVRM: Xid (PCI",
           "NVRM: Xid (PCI:0000:01:00): 79, x",
           ";",
           "",
       }) {
    INFO(record);
    note_record(record, reply);
    CHECK(reply.errors.empty());
  }
  CHECK(reply.count == 0);
}

TEST_CASE("kernel log: of many errors the newest are kept, and all are counted") {
  GpuErrorsReply reply;
  for (int i = 0; i < 100; ++i) {
    note_record("4,1,2,-;NVRM: Xid (PCI:0000:01:00): " + std::to_string(i) + ", x", reply);
  }
  CHECK(reply.count == 100);
  REQUIRE(reply.errors.size() == kMostGpuErrors);
  CHECK(reply.errors.front().xid == 100 - static_cast<std::int64_t>(kMostGpuErrors));
  CHECK(reply.errors.back().xid == 99);
}

}  // namespace sparkplan
