# What the toolchain files share: the cross compiler of Debian and Ubuntu, and the libraries that their
# packages for CMAKE_SYSTEM_PROCESSOR put beside the machine's own. There is no second root directory.
set(CMAKE_LIBRARY_ARCHITECTURE ${CMAKE_SYSTEM_PROCESSOR}-linux-gnu)
set(CMAKE_CXX_COMPILER ${CMAKE_LIBRARY_ARCHITECTURE}-g++)
# What Debian 12 can install for one architecture only (libyaml-cpp-dev) lies here, if anywhere.
list(APPEND CMAKE_PREFIX_PATH ${CMAKE_CURRENT_LIST_DIR}/../../build/packages-${CMAKE_LIBRARY_ARCHITECTURE}/usr)
# Else pkg-config would answer for the machine that builds.
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/pkgconfig:/usr/share/pkgconfig)
set(ENV{PKG_CONFIG_PATH} "")
