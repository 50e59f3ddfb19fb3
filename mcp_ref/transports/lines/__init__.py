"""The transports of messages in lines, over file descriptors: stdio, child processes, and sockets.

A reading order:

=====================  ========================================================================
modules                what they are
=====================  ========================================================================
`fds`                  file descriptors that can be woken and closed
`stdio`                bytes to lines and back; the transport over any pair of descriptors; this process's
                       standard input and output, as a server
`stderr`               a child's standard error: shown, kept, or handed to a function
`process`, `child`     a child process, from its command to its end; the transport to a server in one
`sockets`, `listener`  TCP and Unix sockets; a listener with a thread for each connection
=====================  ========================================================================
"""
