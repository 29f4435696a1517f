spark_unit_test(fleet_test SOURCES fleet_selection_test.cc fleet_fan_out_test.cc fleet_pause_test.cc fleet_waves_test.cc fleet_identity_test.cc
  fleet_apply_test.cc fleet_refusal_test.cc fleet_others_test.cc fleet_removal_test.cc fleet_release_test.cc fleet_departing_test.cc fleet_saved_test.cc fleet_rollback_test.cc fleet_facts_test.cc fleet_node_reply_test.cc fleet_bench.cc
  LIBRARIES spark_fleet spark_resources)

# Rules about the source tree itself.
spark_unit_test(layering_test SOURCES layering_test.cc layering_rules.cc LIBRARIES spark_core)
spark_unit_test(examples_test SOURCES examples_test.cc)
spark_unit_test(security_page_test SOURCES security_page_test.cc LIBRARIES spark_core)
spark_unit_test(property_test SOURCES property_test.cc fleet_bench.cc LIBRARIES spark_fleet spark_resources)
