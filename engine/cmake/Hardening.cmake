# All flags of compiler and linker that limit the damage of a programming error. docs/building.md explains them, and
# tests/package/hardening_test.sh checks the built files for them.
include(CheckCXXCompilerFlag)
include(CheckLinkerFlag)

# spark_flags_that_are_known(OUT FLAG...): the flags that the compiler supports.
function(spark_flags_that_are_known out)
  set(known "")
  foreach(flag IN LISTS ARGN)
    string(MAKE_C_IDENTIFIER "SPARKPLAN_KNOWS${flag}" variable)
    check_cxx_compiler_flag(${flag} ${variable})
    if(${variable})
      list(APPEND known ${flag})
    endif()
  endforeach()
  set(${out} ${known} PARENT_SCOPE)
endfunction()

# spark_harden(TARGET): every target that links TARGET, an interface, is compiled and linked with these flags. Not for
# sanitizers, which check more and cannot check calls that _FORTIFY_SOURCE replaces. The own code of tests that are
# quick to build has only the assertions.
function(spark_harden target)
  set(jumps "")
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    set(jumps -fcf-protection=full)
  elseif(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
    set(jumps -mbranch-protection=standard)
  endif()
  spark_flags_that_are_known(flags -fstack-protector-strong -fstack-clash-protection ${jumps})
  target_compile_options(${target} INTERFACE "$<${spark_unless_quick}:${flags}>"
    "$<$<AND:${spark_unless_quick},$<NOT:$<CONFIG:Debug>>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=3>")
  target_compile_definitions(${target} INTERFACE _GLIBCXX_ASSERTIONS)
  target_link_options(${target} INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack)
endfunction()

# spark_pie(TARGET): loaded at a random address at each start, whatever the compiler's default is.
function(spark_pie target)
  target_link_options(${target} PRIVATE -pie)
endfunction()

# spark_static_pie(TARGET): one file without a loader, loaded at a random address at each start.
function(spark_static_pie target)
  target_link_options(${target} PRIVATE -static-pie)
  # Packs its relocations into a tenth of the space. The linked C library supports them. Older linkers do not, and the
  # aarch64 linker of binutils 2.40 only warns.
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    check_linker_flag(CXX -Wl,-z,pack-relative-relocs SPARKPLAN_LINKER_PACKS_RELOCATIONS)
    if(SPARKPLAN_LINKER_PACKS_RELOCATIONS)
      target_link_options(${target} PRIVATE -Wl,-z,pack-relative-relocs)
    endif()
  endif()
endfunction()
