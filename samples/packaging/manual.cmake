# Has PSNAP print the pages of the manual and the completion of bash into FOLDER, AWK make pages of the
# documents of SOURCES, for VERSION, and GZIP (these two may be unset) compress the pages, without a date, so that the same sources give the same bytes.
file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})
execute_process(COMMAND ${PSNAP} help --manuals ${FOLDER} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${PSNAP} help --completion bash OUTPUT_FILE ${FOLDER}/psnap.bash
  COMMAND_ERROR_IS_FATAL ANY)
# Documents as pages: file, name, section, summary
set(documents
  "profile/FORMAT.md|psnap-profile|5|the profile, field by field"
  "simcore/MACHINES.md|psnap-machine|5|machine files, and what is simulated of a machine"
  "formats/PST.md|psnap-pst-layout|5|the bytes of a trace in psnap's own format"
  "replay/MODELS.md|psnap-models|7|how a stream becomes a profile, and a profile a stream"
  "samples/LIMITS.md|psnap-limits|7|what the models assume, and where they fail"
  "samples/TUTORIAL.md|psnap-tutorial|7|a profile read and edited, number by number"
  "samples/HOWTO.md|psnap-howto|7|recipes for the usual questions"
  "capture/README.md|psnap-capture|7|recording programs"
  "predict/reuse/REUSE.md|psnap-reuse|7|reuse distances"
  "predict/sdcm/SDCM.md|psnap-sdcm|7|hit rates predicted from reuse distances"
  "predict/amm/AMM.md|psnap-amm|7|run times, and larger inputs from small ones"
  "predict/multicore/MULTICORE.md|psnap-multicore|7|programs on several cores"
  "predict/locality/LOCALITY.md|psnap-locality|7|locality surfaces and scores")
if(AWK)
  foreach(document ${documents})
    string(REPLACE "|" ";" document "${document}")
    list(GET document 0 file)
    list(GET document 1 name)
    list(GET document 2 section)
    list(GET document 3 summary)
    execute_process(COMMAND ${AWK} -v name=${name} -v section=${section} -v summary=${summary}
      -v version=${VERSION} -f ${CMAKE_CURRENT_LIST_DIR}/document.awk ${SOURCES}/${file}
      OUTPUT_FILE ${FOLDER}/${name}.${section} COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
endif()
if(GZIP)
  file(GLOB pages ${FOLDER}/*.[157])
  execute_process(COMMAND ${GZIP} -9nf ${pages} COMMAND_ERROR_IS_FATAL ANY)
endif()
file(WRITE ${FOLDER}/made "")
