/** Where something is in a model: a column a level, each module as tall as its share; arrows walk through it. */
import { useSignal } from "@preact/signals";
import { percent } from "../numbers";

const LEVELS = 5;
const LEAST = 0.004; // of the whole: below that a module is a line that nobody can read
const ROOM = 0.035; // of the whole: from which a name finds room

/** A module, or copies of it that are alike. */
interface Piece {
  module: string;
  name: string;
  label: string;
  copies: number;
  children: this[];
}

/** `path`, `copies`: of the module in all that repeats around it, as `layers.0-31.mlp`, 32 of them. */
interface Cell<Module> {
  module: Module;
  path: string;
  copies: number;
  level: number;
  start: number;
  share: number;
  parent: number;
}

/** The cells of a tree, from the outermost module in. Layers that are alike are one cell. */
function cells<Module extends Piece>(tree: Module, amount: (module: Module) => number): Cell<Module>[] {
  const found: Cell<Module>[] = [];
  const all = amount(tree);
  const add = (cell: Cell<Module>) => {
    if (cell.level > LEVELS || cell.share < LEAST) return;
    const parent = found.push(cell) - 1;
    let start = cell.start;
    for (const module of cell.module.children) {
      const share = amount(module) / all;
      const [path, copies] = [pathIn(cell, module), cell.copies * module.copies];
      add({ module, path, copies, level: cell.level + 1, start, share, parent });
      start += share;
    }
  };
  const { module: path, copies } = tree;
  add({ module: tree, path, copies, level: 0, start: 0, share: all ? 1 : 0, parent: -1 });
  return found;
}

/** The path of a module in a cell, with the span of layers where a tree has that of the first. */
function pathIn(around: Cell<Piece>, { module, name, copies }: Piece): string {
  const further = module.slice(around.module.module.length);
  return around.path + (copies > 1 ? further.replace(/[^.]*$/, name) : further);
}

/** Where an arrow leads: into the first part, out again, to the neighbour before or after. */
function moved(shown: Cell<unknown>[], from: number, key: string): number {
  const own = shown[from];
  if (!own) return 0;
  const beside = shown.flatMap((one, rank) => (one.level === own.level ? [rank] : []));
  if (key === "ArrowRight")
    return Math.max(
      from,
      shown.findIndex(({ parent }) => parent === from),
    );
  if (key === "ArrowLeft") return Math.max(0, own.parent);
  const next = beside.indexOf(from) + (key === "ArrowDown" ? 1 : -1);
  return beside[next] ?? from;
}

interface Props<Module> {
  title: string;
  tree: Module;
  amount: (module: Module) => number;
  said: (amount: number) => string;
}

export function Icicle<Module extends Piece>({ title, tree, amount, said }: Props<Module>) {
  const shown = cells(tree, amount);
  const at = useSignal(0);
  const levels = 1 + Math.max(0, ...shown.map((one) => one.level));
  const pointed = shown[Math.min(at.value, shown.length - 1)];
  const pressed = (event: KeyboardEvent) => {
    if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
    at.value = moved(shown, at.value, event.key);
  };
  const told = ({ module, path, copies }: Cell<Module>) => {
    const each = copies > 1 ? `, ${copies} of ${said(amount(module) / copies)} each` : "";
    const own = `${said(amount(module))} (${percent(amount(module), amount(tree))})${each}`;
    return [path && `${path}:`, module.label && `${module.label},`, own].filter(Boolean).join(" ");
  };
  if (!pointed) return null;
  return (
    <figure class="picture">
      <div
        class="icicle"
        role="tree"
        aria-label={title}
        tabIndex={0}
        aria-activedescendant={`cell-${shown.indexOf(pointed)}`}
        onKeyDown={pressed}
      >
        {shown.map((one, rank) => (
          // biome-ignore lint/a11y/useFocusableInteractive: the tree keeps the focus, aria-activedescendant points here
          <div
            key={`${one.level} ${one.module.module}`}
            id={`cell-${rank}`}
            role="treeitem"
            aria-level={one.level + 1}
            aria-selected={one === pointed}
            aria-label={`${named(one.module)}, ${told(one)}`}
            class={`cell level-${one.level % 6}`}
            onPointerEnter={() => (at.value = rank)}
            style={{
              left: `${(100 * one.level) / levels}%`,
              width: `calc(${100 / levels}% - 2px)`,
              top: `${100 * one.start}%`,
              height: `calc(${100 * one.share}% - 1px)`,
            }}
          >
            {one.share > ROOM ? named(one.module) : null}
          </div>
        ))}
      </div>
      <figcaption>{told(pointed)}</figcaption>
    </figure>
  );
}

function named({ name, label, copies }: Piece): string {
  return `${name || label}${copies > 1 ? ` × ${copies}` : ""}`;
}
