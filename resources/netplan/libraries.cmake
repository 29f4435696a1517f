# The YAML parser that netplan itself uses. Linked by name, so that a static agent gets the static library.
pkg_check_modules(LIBYAML REQUIRED yaml-0.1)
target_link_libraries(spark_resources PRIVATE yaml)
