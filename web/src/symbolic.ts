/** The calls of `engine/page.py` that need SymPy. */
export const SYMBOLIC = new Set(["entering", "formula", "diff", "sensitivity"]);

/** Those that take their time: they run in a thread of their own, where they hold up no count. */
export const SLOW = new Set([...SYMBOLIC, "solve"]);
