spark_unit_test(wire_test SOURCES wire_frame_test.cc wire_memory_test.cc wire_messages_test.cc wire_window_test.cc wire_verify_test.cc wire_rdma_test.cc wire_build_id_test.cc
  LIBRARIES spark_wire)
set(SPARKPLAN_TEST_BUILD_ID 5d3f0a19c4e87b26d1003fae9b7c6258f4e1a0b3)
target_link_options(wire_test PRIVATE -Wl,--build-id=0x${SPARKPLAN_TEST_BUILD_ID})
target_compile_definitions(wire_test PRIVATE SPARKPLAN_TEST_BUILD_ID="${SPARKPLAN_TEST_BUILD_ID}")
