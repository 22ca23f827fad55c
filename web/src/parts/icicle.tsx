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

interface Cell<Module> {
  module: Module;
  level: number;
  start: number;
  share: number;
  parent: number;
}

/** The cells of a tree, from the outermost module in. Layers that are alike are one cell. */
function cells<Module extends Piece>(tree: Module, amount: (module: Module) => number): Cell<Module>[] {
  const found: Cell<Module>[] = [];
  const all = amount(tree);
  const add = (module: Module, level: number, start: number, parent: number) => {
    const share = all ? amount(module) / all : 0;
    if (level > LEVELS || share < LEAST) return;
    const own = found.push({ module, level, start, share, parent }) - 1;
    let at = start;
    for (const child of module.children) {
      add(child, level + 1, at, own);
      at += amount(child) / all;
    }
  };
  add(tree, 0, 0, -1);
  return found;
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
  const told = (module: Module) => {
    const { copies, label } = module;
    const each = copies > 1 ? `, ${copies} of ${said(amount(module) / copies)} each` : "";
    const own = `${said(amount(module))} (${percent(amount(module), amount(tree))})${each}`;
    return [module.module && `${module.module}:`, label && `${label},`, own].filter(Boolean).join(" ");
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
            aria-label={`${named(one.module)}, ${told(one.module)}`}
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
      <figcaption>{told(pointed.module)}</figcaption>
    </figure>
  );
}

function named({ name, label, copies }: Piece): string {
  return `${name || label}${copies > 1 ? ` × ${copies}` : ""}`;
}
