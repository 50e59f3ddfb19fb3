"""Serve the scene that is open in Blender: objects and frames, as tools that run on Blender's main thread.

By hand: `python3 -m mcp_ref vendor ~/.config/blender/4.5/scripts/modules` (your version), copy this file into
`~/.config/blender/4.5/scripts/addons/`, start `MCP_TOKEN=a-long-secret blender`, switch "MCP server" on in Edit,
Preferences, Add-ons, and tell your host:

    python3 -m mcp_ref config http://127.0.0.1:8765/mcp --for vscode --header "Authorization=Bearer a-long-secret"
"""
import os
import bpy
from mcp_ref import Context, Server
from mcp_ref.server import MainThreadQueue

bl_info = {"name": "MCP server", "blender": (3, 4, 0), "category": "System"}
queue = MainThreadQueue(stall_after=60)  # Blender renders on its main thread, too
server = Server("blender", version="1.0", executor=queue)


@server.tool
def add_cube(x: float, y: float, z: float) -> str:
    """Add a cube to the scene, and return its name."""
    bpy.ops.mesh.primitive_cube_add(location=(x, y, z))
    return bpy.context.object.name


@server.tool(read_only=True)
def objects() -> dict:
    """List the objects of the scene with their places."""
    return {found.name: list(found.location) for found in bpy.context.scene.objects}


@server.tool
def play(frames: int, ctx: Context) -> None:
    """Go through so many frames."""
    for number in range(frames):
        bpy.context.scene.frame_set(number + 1)
        ctx.progress(number + 1, frames)  # ends a call that was cancelled, between two frames


def pump():
    queue.pump()
    return 0.02  # seconds until Blender calls this again


def register():
    global listener
    listener = server.listen(os.environ.get("MCP_URL", "http://127.0.0.1:8765/mcp"), token=os.environ["MCP_TOKEN"])
    bpy.app.timers.register(pump, persistent=True)
    print("MCP at", listener.address, flush=True)


def unregister():
    bpy.app.timers.unregister(pump)
    listener.close(0)


if __name__ == "__main__":  # no window: `blender -b -P in_blender.py`, or `python3 in_blender.py` with bpy of PyPI
    register()
    while bpy.app.background and queue.wait():  # there are no timers
        queue.pump()
