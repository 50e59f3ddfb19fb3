"""The command that writes a server into the configuration file of a host: `config`, its files (`merging`)."""
