# The installed files other than the program, and the Debian package. No step runs the program, so a build for another
# architecture is packaged like any other.
find_program(SPARKPLAN_GZIP gzip REQUIRED)
set(SPARKPLAN_PACKAGE_MAINTAINER "The sparkplan project <sparkplan@example.org>" CACHE STRING
  "Whom the Debian package names as its maintainer")

# spark_install_compressed(FILE FOLDER NAME): FILE as FOLDER/NAME.gz, the same bytes from every build.
function(spark_install_compressed file folder name)
  set(compressed ${CMAKE_CURRENT_BINARY_DIR}/share/${name}.gz)
  add_custom_command(OUTPUT ${compressed}
    COMMAND ${SPARKPLAN_GZIP} -9 -n -c ${CMAKE_SOURCE_DIR}/${file} > ${compressed}
    DEPENDS ${CMAKE_SOURCE_DIR}/${file} VERBATIM)
  set_property(GLOBAL APPEND PROPERTY SPARKPLAN_COMPRESSED ${compressed})
  install(FILES ${compressed} DESTINATION ${folder})
endfunction()

file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/share)
spark_install_compressed(docs/man/sparkplan.1 share/man/man1 sparkplan.1)
spark_install_compressed(docs/man/cluster.yaml.5 share/man/man5 cluster.yaml.5)
spark_install_compressed(engine/cmake/debian/changelog share/doc/sparkplan changelog)
get_property(compressed GLOBAL PROPERTY SPARKPLAN_COMPRESSED)
add_custom_target(compressed_documents ALL DEPENDS ${compressed})

install(FILES docs/completion/sparkplan.bash DESTINATION share/bash-completion/completions RENAME sparkplan)
install(FILES docs/completion/_sparkplan DESTINATION share/zsh/vendor-completions)
install(FILES docs/completion/sparkplan.fish DESTINATION share/fish/vendor_completions.d)
install(FILES schemas/cluster.schema.json schemas/report.schema.json schemas/plan.schema.json
  schemas/history.schema.json schemas/verify.schema.json schemas/verify-history.schema.json schemas/sync.schema.json
  schemas/doctor.schema.json schemas/facts.schema.json schemas/status.schema.json schemas/job.schema.json
  schemas/tune.schema.json
  DESTINATION share/sparkplan)
install(FILES README.md engine/cmake/debian/copyright DESTINATION share/doc/sparkplan)
install(FILES engine/cmake/debian/lintian-overrides DESTINATION share/lintian/overrides RENAME sparkplan)

# The examples name their schema for editors; the path of the schema differs after installation.
file(GLOB examples CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/examples ${CMAKE_SOURCE_DIR}/examples/*.yaml)
foreach(example IN LISTS examples)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/examples/${example})
  file(READ ${CMAKE_SOURCE_DIR}/examples/${example} text)
  string(REPLACE "$schema=../schemas/" "$schema=../../../sparkplan/" text "${text}")
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/share/examples/${example} CONTENT "${text}" @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/share/examples/${example} DESTINATION share/doc/sparkplan/examples)
endforeach()
# A file that an example names as a source.
install(FILES examples/greeting.txt DESTINATION share/doc/sparkplan/examples)

set(debian_architecture_x86_64 amd64)
set(debian_architecture_aarch64 arm64)
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME sparkplan)
set(CPACK_PACKAGE_VENDOR "The sparkplan project")
set(CPACK_PACKAGE_CONTACT "${SPARKPLAN_PACKAGE_MAINTAINER}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "make a cluster of machines match one file, over SSH")
set(CPACK_PACKAGE_DESCRIPTION
"sparkplan reads every node of a cluster over SSH, shows what differs from one
file and why, and makes it so: kernel parameters, resource limits, systemd
units, environment variables, host names, the network between the nodes, and
logins from each to each. Later it finds changes that it did not make.

Nothing has to be installed on the nodes. It was made for clusters of NVIDIA
DGX Sparks and knows what they need.")
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE ${debian_architecture_${CMAKE_SYSTEM_PROCESSOR}})
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${SPARKPLAN_PACKAGE_MAINTAINER}")
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS openssh-client)
# dpkg-shlibdeps would name the versions of the building machine. engine/packaging/portability.py checks that these are
# enough.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= 2.34), libssh-4 (>= 0.9)")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
# A package is for clusters of both architectures, on whichever architecture it is made.
get_directory_property(carried DIRECTORY ${CMAKE_SOURCE_DIR}/engine DEFINITION SPARKPLAN_ARCHITECTURES)
foreach(architecture x86_64 aarch64)
  if(NOT architecture IN_LIST carried)
    set(CPACK_INSTALL_SCRIPTS ${CMAKE_CURRENT_BINARY_DIR}/share/incomplete.cmake)
    file(WRITE ${CPACK_INSTALL_SCRIPTS} "message(FATAL_ERROR \"This build has no agent for ${architecture}: run \"
  \"tests/install-dependencies.sh cross, and configure and build again.\")\n")
  endif()
endforeach()
include(CPack)
