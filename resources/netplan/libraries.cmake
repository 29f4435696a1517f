# The YAML parser that netplan itself uses. By name, so that a static agent links its static twin.
pkg_check_modules(LIBYAML REQUIRED yaml-0.1)
target_link_libraries(spark_resources PRIVATE yaml)
