# What is installed beside the program and the library: manual, completion, documents; the target
# `uninstall`; Debian packages (debian.cmake). Included by the project's CMakeLists.txt, when all targets are there.
# Components: program (psnap, capture, manual), library (libpsnap.so.0), development (the rest).

# Documents keep their places, so that the links between them lead somewhere.
set(documents README.md LICENSE CHANGELOG.md CITATION.cff capture/README.md formats/CLIENTS.md formats/PST.md
  predict/amm/AMM.md predict/bandwidth/BANDWIDTH.md predict/hybrid/HYBRID.md predict/locality/LOCALITY.md predict/multicore/MULTICORE.md
  predict/reuse/REUSE.md predict/sdcm/SDCM.md predict/report/REPORT.md predict/worklist/WORKLIST.md
  profile/FORMAT.md profile/repo/REPO.md replay/MODELS.md samples/HOWTO.md samples/LIMITS.md samples/README.md
  samples/TUTORIAL.md samples/packaging/README.md simcore/MACHINES.md)
foreach(document ${documents})
  get_filename_component(folder ${document} DIRECTORY)
  install(FILES ${document} DESTINATION ${CMAKE_INSTALL_DOCDIR}/${folder} COMPONENT program)
endforeach()

install(FILES ${CMAKE_CURRENT_LIST_DIR}/completion.bash COMPONENT program RENAME psnap
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)

# The manual is what the program itself says, which has to run where it is built.
find_program(GZIP gzip)
find_program(AWK awk)
if(CMAKE_CROSSCOMPILING OR NOT AWK)
  message(STATUS "no manual: it is made by awk, of what the program says")
else()
  set(manual ${CMAKE_BINARY_DIR}/manual)
  add_custom_command(OUTPUT ${manual}/made
    COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/manual.sh $<TARGET_FILE:psnap> ${manual}
      ${PROJECT_SOURCE_DIR} ${PROJECT_VERSION}
    DEPENDS psnap ${CMAKE_CURRENT_LIST_DIR}/manual.sh ${CMAKE_CURRENT_LIST_DIR}/document.awk
      ${documents}
    COMMENT "Printing the manual" VERBATIM)
  add_custom_target(manual ALL DEPENDS ${manual}/made)
  foreach(section 1 5 7)
    install(DIRECTORY ${manual}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section}
      COMPONENT program FILES_MATCHING REGEX "[.]${section}([.]gz)?$")
  endforeach()
endif()

install(CODE "set(STEP end)\nset(FOLDER \"${CMAKE_BINARY_DIR}/installed\")\n\
include(\"${CMAKE_CURRENT_LIST_DIR}/installed.cmake\")" ALL_COMPONENTS)
add_custom_target(uninstall
  COMMAND ${CMAKE_COMMAND} -DFOLDER=${CMAKE_BINARY_DIR}/installed
    -P ${CMAKE_CURRENT_LIST_DIR}/uninstall.cmake
  COMMENT "Removing what 'cmake --install' of this build has put anywhere" VERBATIM)

include(${CMAKE_CURRENT_LIST_DIR}/debian.cmake)

# The documentation as a site, in site/; by name only, for it needs Python's markdown.
find_program(PYTHON3 NAMES python3)
if(PYTHON3)
  add_custom_target(site
    COMMAND ${PYTHON3} ${CMAKE_CURRENT_LIST_DIR}/site.py $<TARGET_FILE:psnap> ${PROJECT_SOURCE_DIR}
      ${CMAKE_BINARY_DIR}/site
    DEPENDS psnap COMMENT "Writing the documentation to site/" VERBATIM)
endif()
