# Shared by the toolchain files: the cross compiler of Debian and Ubuntu, and the libraries for CMAKE_SYSTEM_PROCESSOR,
# which their packages install beside the machine's own. There is no second root directory.
set(CMAKE_LIBRARY_ARCHITECTURE ${CMAKE_SYSTEM_PROCESSOR}-linux-gnu)
set(CMAKE_CXX_COMPILER ${CMAKE_LIBRARY_ARCHITECTURE}-g++)
# The place for packages that Debian 12 can install for one architecture only (libyaml-cpp-dev), if it exists.
list(APPEND CMAKE_PREFIX_PATH ${CMAKE_CURRENT_LIST_DIR}/../../build/packages-${CMAKE_LIBRARY_ARCHITECTURE}/usr)
# Otherwise pkg-config would answer for the building machine.
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/pkgconfig:/usr/share/pkgconfig)
set(ENV{PKG_CONFIG_PATH} "")
