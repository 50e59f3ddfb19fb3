"""Rules without input or output: functions and tables that know no sockets, threads or clocks."""
