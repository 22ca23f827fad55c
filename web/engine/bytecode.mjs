// Runs bytecode.py in Pyodide, whose Python alone writes bytecode that it reads: `node engine/bytecode.mjs FOLDER`.
import { readFileSync } from "node:fs";
import { loadPyodide } from "pyodide";

const python = await loadPyodide();
python.mountNodeFS("/packing", process.argv[2]);
python.runPython(readFileSync(new URL("bytecode.py", import.meta.url), "utf8"));
