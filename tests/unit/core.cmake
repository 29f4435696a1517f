spark_unit_test(core_test SOURCES value_test.cc json_test.cc digest_test.cc ids_test.cc units_test.cc text_test.cc words_test.cc
  text_diff_test.cc diagnostic_test.cc result_test.cc shape_test.cc)
