"""Clients under examination: a scripted server, legal by table, from which each scene departs.

===============  ===================================================================================================
module           what it has
===============  ===================================================================================================
`script`         what the server answers
`endpoints`      where the client arrives: lines on a socket, HTTP
`stub`           the process that a client of stdio starts
`starts`         how the client is started, and told where the server is
`issuer`         an authorization server
`stage`          what a scene is given
`pages`          the scenes
`examination`    all scenes in all revisions
===============  ===================================================================================================
"""
