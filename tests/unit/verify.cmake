spark_unit_test(verify_test SOURCES verify_check_test.cc verify_pairs_test.cc verify_scene_test.cc verify_link_test.cc verify_cable_test.cc
  verify_complaint_test.cc verify_measurements_test.cc verify_storage_test.cc verify_report_test.cc
  LIBRARIES spark_verify spark_resources nlohmann_json::nlohmann_json)
spark_unit_test(doctor_test SOURCES doctor_table_test.cc doctor_examination_test.cc doctor_unread_test.cc doctor_firewall_test.cc doctor_findings.cc doctor_report_test.cc doctor_capture.cc agent_no_hardware.cc
  LIBRARIES spark_verify spark_agent nlohmann_json::nlohmann_json)
