spark_unit_test(process_test SOURCES process_test.cc LIBRARIES spark_process)
