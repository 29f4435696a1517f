spark_unit_test(draft_test SOURCES draft_test.cc draft_fabric_test.cc draft_members_test.cc draft_round_trip_test.cc draft_texts_test.cc draft_machines.cc
  LIBRARIES spark_draft spark_load spark_resources)
