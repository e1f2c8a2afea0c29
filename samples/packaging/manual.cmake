# Has PSNAP print the pages of the manual and the completion of bash into FOLDER, and GZIP (may be
# unset) compress the pages, without a date, so that the same sources give the same bytes.
file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})
execute_process(COMMAND ${PSNAP} help --manuals ${FOLDER} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${PSNAP} help --completion bash OUTPUT_FILE ${FOLDER}/psnap.bash
  COMMAND_ERROR_IS_FATAL ANY)
if(GZIP)
  file(GLOB pages ${FOLDER}/*.[15])
  execute_process(COMMAND ${GZIP} -9nf ${pages} COMMAND_ERROR_IS_FATAL ANY)
endif()
file(WRITE ${FOLDER}/made "")
