/** The FLOPs report as a tree of modules; repeated layers are one node. */
export interface Counted {
  module: string;
  name: string;
  label: string;
  copies: number;
  flops: number;
  children: Counted[];
}

interface Built extends Omit<Counted, "children"> {
  own: number;
  children: Built[];
}

const STEP = /\.(?!\*)/; // separates the names of a path; `layers.*` is one name

/** `rows`: a module's path, its number of copies, and their FLOPs. */
export function flopsTree(architecture: string, rows: string[][]): Counted {
  const root = empty("", architecture);
  for (const [path = "", , flops = ""] of rows) {
    const own = Number(flops.replaceAll(",", ""));
    let at = root;
    at.flops += own;
    for (const name of path.split(STEP)) {
      at = childOf(at, name);
      at.flops += own;
    }
    at.own = own;
  }
  return shown(root);
}

/** A node with children and FLOPs of its parameters or attention gets these as the child `itself`. */
function shown({ own, ...module }: Built): Counted {
  const children = module.children.map(shown);
  if (own && children.length)
    children.push({ ...module, name: "itself", label: "itself", flops: own, children: [] });
  return { ...module, children };
}

function childOf(parent: Built, name: string): Built {
  const known = parent.children.find((one) => one.name === name);
  if (known) return known;
  const child = empty(parent.module ? `${parent.module}.${name}` : name, name);
  parent.children.push(child);
  return child;
}

const empty = (module: string, name: string): Built => ({
  module,
  name,
  label: "",
  copies: 1,
  flops: 0,
  own: 0,
  children: [],
});
