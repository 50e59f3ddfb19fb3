// Python in a web page, without the page: `pyodide_walk.cjs steps`, or `pyodide_walk.cjs tests PLACE ARGUMENT...`, where
// PLACE is a folder with pytest, whose arguments follow. The tree is mounted at /tree. NODE_PATH tells where Pyodide is.
"use strict";
const path = require("node:path");
const { loadPyodide } = require("pyodide");

const STEPS = `
from tests.support.threadless import main
main()
`;
// There is no watchdog thread for time limits: who runs this has one.
const TESTS = `
import faulthandler
faulthandler.dump_traceback_later = lambda *given, **options: None
import pytest
int(pytest.main(["-p", "no:cacheprovider", *ARGUMENTS.to_py()]))
`;

async function main(what, place, args) {
  const python = await loadPyodide();
  const folders = { "/tree": path.resolve(__dirname, "..", ".."), ...(place && { "/site": path.resolve(place) }) };
  for (const [name, folder] of Object.entries(folders)) {
    python.FS.mkdir(name);
    python.FS.mount(python.FS.filesystems.NODEFS, { root: folder }, name);
  }
  python.runPython("import os, sys; sys.dont_write_bytecode = True; sys.path[:0] = ['/tree', '/site']; os.chdir('/tree')");
  python.globals.set("ARGUMENTS", args);
  process.exitCode = python.runPython(what === "steps" ? STEPS : TESTS);
}

main(process.argv[2], process.argv[3], process.argv.slice(4)).catch((error) => {
  console.error(String(error.message || error).slice(-4000));
  process.exitCode = 1;
});
