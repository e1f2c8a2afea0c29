# Debian packages, by CPack: psnap, libpsnap0, libpsnap-dev.
#
#   cmake --preset package && cmake --build --preset package --target package
#
# The preset's prefix is /usr, for which GNUInstallDirs takes Debian's folders for libraries. What the
# packages depend on is what dpkg-shlibdeps finds; compilers and tools are recommended only, for psnap works
# without, and psnap doctor says what for.
set(PSNAP_CONTACT "the psnap authors <maintainers@psnap.invalid>" CACHE STRING
  "who is named as the maintainer of packages")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME psnap)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT ${PSNAP_CONTACT})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL program)
if(TARGET psnap_shared)
  list(APPEND CPACK_COMPONENTS_ALL library development)
endif()
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME psnap)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PROGRAM_DESCRIPTION "profiles of memory behaviour, and address streams from them
psnap turns the memory behaviour of a running program into a profile that a
person can read, edit and keep. From a profile it makes a synthetic address
stream, simulates caches, and predicts hit rates and run times.")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "gnuplot-nox | gnuplot, valgrind")
if(PSNAP_LLVM_FOUND) # the compiler that psnap cc takes by itself
  list(GET PSNAP_LLVM_FOUND 0 llvm)
  string(APPEND CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS ", clang-${llvm}")
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS
    "flang-${llvm}, lld-${llvm}, libomp-${llvm}-dev, llvm-${llvm}, openmpi-bin")
endif()

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libpsnap${PSNAP_ABI})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION "profiles of memory behaviour and cache simulation (library)
The library of psnap: traces, profiles, synthetic address streams, the
simulator of caches, and predictions.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libpsnap-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libpsnap${PSNAP_ABI} (= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "profiles of memory behaviour and cache simulation (development)
Headers of the library of psnap, and what pkg-config and CMake find it by:
for programs that read or make traces and profiles, simulate caches, or predict
hit rates and run times themselves.")

# The loader's cache is made anew once, behind all packages.
set(packaging ${CMAKE_BINARY_DIR}/packaging)
file(WRITE ${packaging}/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${packaging}/triggers ${packaging}/symbols ${packaging}/shlibs)
# CPack would make this of each component, and warn of the passes for clang, which are no library to link with.
file(WRITE ${packaging}/shlibs "libpsnap ${PSNAP_ABI} libpsnap${PSNAP_ABI} (>= ${PROJECT_VERSION})\n")

# Which version of the library a program needs follows from the symbols that it uses: abi.txt has the version
# that has had each first.
set(abi_list ${CMAKE_CURRENT_LIST_DIR}/abi.txt)
set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${abi_list})
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${abi_list})
file(STRINGS ${abi_list} listed REGEX "^symbol ")
set(symbols "")
set(first ${PROJECT_VERSION})
foreach(line ${listed})
  string(REGEX REPLACE "^symbol ([^ ]+) ([^ ]+) .*" " \\1@PSNAP_${PSNAP_ABI} \\2" symbol "${line}")
  string(APPEND symbols "${symbol}\n")
  if(CMAKE_MATCH_2 VERSION_LESS first)
    set(first ${CMAKE_MATCH_2})
  endif()
endforeach()
file(WRITE ${packaging}/symbols "libpsnap.so.${PSNAP_ABI} libpsnap${PSNAP_ABI} #MINVER#\n\
* Build-Depends-Package: libpsnap-dev\n PSNAP_${PSNAP_ABI}@PSNAP_${PSNAP_ABI} ${first}\n${symbols}")

# Debian wants a copyright and two changelogs of each package, the program's and the package's own; other
# installations have them once. The date is that of SOURCE_DATE_EPOCH where it is set.
set(debian_version ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE ${packaging}/changelog.Debian
  "psnap (${debian_version}) unstable; urgency=medium\n\n  * As built by CPack from the project's own recipe.\n\n -- ${PSNAP_CONTACT}  ${date}\n")
configure_file(CHANGELOG.md ${packaging}/changelog COPYONLY)
if(GZIP)
  execute_process(COMMAND ${GZIP} -9nf changelog changelog.Debian WORKING_DIRECTORY ${packaging})
endif()
foreach(package "program psnap" "library libpsnap${PSNAP_ABI}" "development libpsnap-dev")
  separate_arguments(package)
  list(GET package 0 component)
  list(GET package 1 name)
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${name} RENAME copyright
    COMPONENT ${component} EXCLUDE_FROM_ALL)
  install(FILES ${packaging}/changelog.gz ${packaging}/changelog.Debian.gz
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${name}
    COMPONENT ${component} EXCLUDE_FROM_ALL OPTIONAL)
endforeach()
include(CPack)
