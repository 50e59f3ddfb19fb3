"""Clients under examination: a scripted server, legal by table, from which each scene departs.

===============  ===================================================================================================
module           what it has
===============  ===================================================================================================
`script`         what the server answers
`endpoints`      where the client arrives: lines on a socket, HTTP
`stub`           the process that a client of stdio starts
`starts`         how the client is started, and told where the server is
`stage`          what a scene is given, and all scenes in all revisions
`pages`          the scenes
===============  ===================================================================================================
"""
