# Compresses PROGRAM into PACKED, the file that sparkplan sends to nodes.
# cmake -D GZIP=... -D PROGRAM=... -D PACKED=... -P PackProgram.cmake
# -n: without a name and a time, so that the same program gives the same bytes.
execute_process(COMMAND ${GZIP} -9 -n -c ${PROGRAM} OUTPUT_FILE ${PACKED} COMMAND_ERROR_IS_FATAL ANY)
