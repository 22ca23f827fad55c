/** Where the parameters are: a column a level, each module as tall as its share; arrows walk through it. */
import { useSignal } from "@preact/signals";
import { percent, whole } from "../numbers";
import type { Module } from "../types";

const LEVELS = 5;
const LEAST = 0.004; // of the whole: below that a module is a line that nobody can read
const ROOM = 0.035; // of the whole: from which a name finds room

interface Cell {
  module: Module;
  level: number;
  start: number;
  share: number;
  parent: number;
}

/** The cells of a tree, from the outermost module in. Layers that are alike are one cell. */
export function cells(tree: Module): Cell[] {
  const found: Cell[] = [];
  const add = (module: Module, level: number, start: number, parent: number) => {
    const share = tree.params ? module.params / tree.params : 0;
    if (level > LEVELS || share < LEAST) return;
    const own = found.push({ module, level, start, share, parent }) - 1;
    let at = start;
    for (const child of module.children) {
      add(child, level + 1, at, own);
      at += child.params / tree.params;
    }
  };
  add(tree, 0, 0, -1);
  return found;
}

/** Where an arrow leads: into the first part, out again, to the neighbour before or after. */
function moved(shown: Cell[], from: number, key: string): number {
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

export function Icicle({ tree }: { tree: Module }) {
  const shown = cells(tree);
  const at = useSignal(0);
  const levels = 1 + Math.max(0, ...shown.map((one) => one.level));
  const pointed = shown[Math.min(at.value, shown.length - 1)];
  const pressed = (event: KeyboardEvent) => {
    if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
    at.value = moved(shown, at.value, event.key);
  };
  if (!pointed) return null;
  return (
    <figure class="picture">
      <div
        class="icicle"
        role="tree"
        aria-label="where the parameters are"
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
            aria-label={`${named(one.module)}, ${told(one, tree)}`}
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
      <figcaption>{told(pointed, tree)}</figcaption>
    </figure>
  );
}

function named({ name, label, copies }: Module): string {
  return `${name || label}${copies > 1 ? ` × ${copies}` : ""}`;
}

function told({ module }: Cell, tree: Module): string {
  const { copies, label, params } = module;
  const path = module.module ? `${module.module}: ` : "";
  const each = copies > 1 ? `, ${copies} of ${whole(params / copies)} each` : "";
  return `${path}${label}, ${whole(params)} parameters (${percent(params, tree.params)})${each}`;
}
