/** The calls of `engine/page.py` that need SymPy. */
export const SYMBOLIC = new Set(["entering", "formula", "diff", "sensitivity"]);
