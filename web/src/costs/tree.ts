/** The modules of a report on FLOPs as a tree, layers that repeat as one. */
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

const STEP = /\.(?!\*)/; // between two names of a path: `layers.*` is one

/** `rows`: the path of a module, how many it stands for, their own FLOPs. */
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

/** With what a module multiplies itself beside the modules within it, as those of attention. */
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
