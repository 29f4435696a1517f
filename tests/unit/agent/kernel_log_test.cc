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

TEST_CASE("kernel log: an Xid of a part of a GPU, and in any PCI domain, is found") {
  GpuErrorsReply reply;
  note_record("3,1,2,-;NVRM: Xid (PCI:000f:01:00): 119, pid='<unknown>', name=<unknown>, Timeout after 45s", reply);
  note_record("3,2,2,-;NVRM: Xid (PCI:10000:C1:00): 13, Graphics Exception", reply);
  note_record("3,3,2,-;NVRM: Xid (PCI:0000:c1:00 GPU-I:05): 43, pid=7, name=a, Ch 00000008", reply);
  note_record("3,4,2,-;NVRM: Xid (PCI:0000:c1:00 GPU-I:05 GPU-CI:00): 45, pid=7, name=a, Ch 00000008", reply);
  CHECK(reply.count == 4);
}

TEST_CASE("kernel log: the name of a process or of a file makes no Xid of the kernel's words about it") {
  GpuErrorsReply reply;
  for (const char* record : {
           // The names "NVRM: Xid (): 7" and "NVRM: Xid (PCI:", the latter with a file named "0): 79".
           "6,1,2,-;NVRM: Xid (): 7[19154]: segfault at 0 ip 0000 sp 0000 error 4 in k[400000+1000]",
           "6,1,2,-;NVRM: Xid (PCI:[19153]: segfault at 0 ip 0000 sp 0000 error 6 in 0): 79[1182,1000]",
           "6,1,2,-;NVRM: Xid (PCI:0[19153]: segfault at 0 ip 0000 sp 0000 error 6 in 0:0:0): 79, x[1182]",
           "6,1,2,-;NVRM: Xid (PCI:: 0:0:0): 79, x",
           "6,1,2,-;NVRM: Xid (PCI:0:0): 79, x",
           "6,1,2,-;NVRM: Xid (PCI:0000:01:00 x): 79, x",
           "6,1,2,-;NVRM: Xid (PCI:0000:01:00): 79[19153], x",
           "6,1,2,-;NVRM: Xid (PCI:0000:01:00): 79",
       }) {
    INFO(record);
    note_record(record, reply);
    CHECK(reply.errors.empty());
  }
  CHECK(reply.count == 0);
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
