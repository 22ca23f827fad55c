/** An icicle plot of a model: one column per level, heights by share, navigable with arrow keys. */
import { useSignal } from "@preact/signals";
import { percent } from "../numbers";

const LEVELS = 5;
const LEAST = 0.004; // share below which a module is too small to draw
const ROOM = 0.035; // share from which a name fits

/** A module, or identical copies of it. */
interface Piece {
  module: string;
  name: string;
  label: string;
  copies: number;
  children: this[];
}

/** `path`, `copies`: of the module in all repeated layers, for example `layers.0-31.mlp`, 32 copies. */
interface Cell<Module> {
  module: Module;
  path: string;
  copies: number;
  level: number;
  start: number;
  share: number;
  parent: number;
}

/** The cells of a tree, outermost first. Identical layers share a cell. */
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

/** The path of a module in a cell, with the range of layers instead of the first one. */
function pathIn(around: Cell<Piece>, { module, name, copies }: Piece): string {
  const further = module.slice(around.module.module.length);
  return around.path + (copies > 1 ? further.replace(/[^.]*$/, name) : further);
}

/** The target of an arrow key: the first child, the parent, or the previous or next neighbor. */
function moved(shown: Cell<unknown>[], from: number, key: string): number {
  const own = shown[from];
  if (!own) return 0;
  const level = shown.flatMap((one, rank) => (one.level === own.level ? [rank] : []));
  if (key === "ArrowRight")
    return Math.max(
      from,
      shown.findIndex(({ parent }) => parent === from),
    );
  if (key === "ArrowLeft") return Math.max(0, own.parent);
  const next = level.indexOf(from) + (key === "ArrowDown" ? 1 : -1);
  return level[next] ?? from;
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
  const describe = ({ module, path, copies }: Cell<Module>) => {
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
            aria-label={`${named(one.module)}, ${describe(one)}`}
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
      <figcaption>{describe(pointed)}</figcaption>
    </figure>
  );
}

function named({ name, label, copies }: Piece): string {
  return `${name || label}${copies > 1 ? ` × ${copies}` : ""}`;
}
