/** The calls of `engine/page.py` that need SymPy. */
export const SYMBOLIC = new Set(["entering", "formula", "diff", "sensitivity"]);

/** Slow calls: they run in a second thread, so that counts do not wait. */
export const SLOW = new Set([...SYMBOLIC, "solve"]);
