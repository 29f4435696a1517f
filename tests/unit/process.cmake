spark_unit_test(process_test SOURCES process_test.cc own_user_test.cc LIBRARIES spark_process)
