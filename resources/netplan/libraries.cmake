# The YAML parser that netplan itself uses.
spark_find_archive(SPARKPLAN_LIBYAML yaml libyaml-dev)
target_link_libraries(spark_resources PRIVATE ${SPARKPLAN_LIBYAML})
