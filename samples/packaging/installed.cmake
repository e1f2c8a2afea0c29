# What `cmake --install` has put where: a list for each prefix (and $DESTDIR) in FOLDER, for the target
# `uninstall`, of lines
#
#   prefix PATH     file PATH ...     made PATH ...
#
# the last of which are folders that were not there before. Runs at an install's beginning (STEP begin), when
# it looks for these among FOLDERS, and at its end. Packages, which CPack installs below its own folder, have none.
set(prefix "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}")
get_filename_component(prefix "${prefix}" ABSOLUTE)
if(prefix MATCHES "/_CPack_Packages/")
  return()
endif()
if(STEP STREQUAL begin)
  set(psnap_made)
  foreach(folder "" ${FOLDERS})
    if(IS_ABSOLUTE "${folder}")
      set(folder "$ENV{DESTDIR}${folder}")
    else()
      get_filename_component(folder "${prefix}/${folder}" ABSOLUTE)
    endif()
    while(NOT EXISTS "${folder}")
      list(APPEND psnap_made "made ${folder}")
      get_filename_component(folder "${folder}" DIRECTORY)
    endwhile()
  endforeach()
  return()
endif()
string(SHA1 name "${prefix}")
set(lines "prefix ${prefix}")
if(EXISTS "${FOLDER}/${name}.txt")
  file(STRINGS "${FOLDER}/${name}.txt" lines)
endif()
list(APPEND lines ${psnap_made})
foreach(file ${CMAKE_INSTALL_MANIFEST_FILES})
  list(APPEND lines "file $ENV{DESTDIR}${file}")
endforeach()
list(REMOVE_DUPLICATES lines)
list(JOIN lines "\n" text)
file(WRITE "${FOLDER}/${name}.txt" "${text}\n")
