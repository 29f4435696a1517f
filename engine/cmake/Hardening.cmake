# What keeps a mistake of ours from becoming somebody else's way in: flags of compiler and linker, all of them here.
# docs/building.md explains them, tests/package/hardening_test.sh looks for them in what was built.
include(CheckCXXCompilerFlag)
include(CheckLinkerFlag)

# spark_flags_that_are_known(OUT FLAG...): those of the flags that the compiler knows.
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

# spark_harden(TARGET): everyone who links TARGET, an interface, is compiled and linked with these. Not for
# sanitizers, which check more and cannot see through _FORTIFY_SOURCE.
function(spark_harden target)
  set(jumps "")
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    set(jumps -fcf-protection=full)
  elseif(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
    set(jumps -mbranch-protection=standard)
  endif()
  spark_flags_that_are_known(flags -fstack-protector-strong -fstack-clash-protection ${jumps})
  target_compile_options(${target} INTERFACE ${flags}
    $<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3>)
  target_compile_definitions(${target} INTERFACE _GLIBCXX_ASSERTIONS)
  target_link_options(${target} INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack)
endfunction()

# spark_pie(TARGET): lies at another address each time it is started, whatever the compiler does by itself.
function(spark_pie target)
  target_link_options(${target} PRIVATE -pie)
endfunction()

# spark_static_pie(TARGET): one file without a loader that lies at another address each time it is started.
function(spark_static_pie target)
  target_link_options(${target} PRIVATE -static-pie)
  # Its relocations in a tenth of the room. The C library that is linked in knows them, older linkers do not, and
  # that of aarch64 in binutils 2.40 only warns.
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    check_linker_flag(CXX -Wl,-z,pack-relative-relocs SPARKPLAN_LINKER_PACKS_RELOCATIONS)
    if(SPARKPLAN_LINKER_PACKS_RELOCATIONS)
      target_link_options(${target} PRIVATE -Wl,-z,pack-relative-relocs)
    endif()
  endif()
endfunction()
