/** Where the parameters are: a column a level, each module as tall as its share. */
import { percent, whole } from "../numbers";
import type { Module } from "../types";

const LEVELS = 5;
const LEAST = 0.004; // of the whole: below that a module is a line that nobody can read

interface Cell {
  module: Module;
  level: number;
  start: number;
  share: number;
}

/** The cells of a tree, from the outermost module in. Layers that are alike are one cell. */
export function cells(module: Module, all: number, level = 0, start = 0): Cell[] {
  const share = module.params / all;
  if (level > LEVELS || share < LEAST) return [];
  const found: Cell[] = [{ module, level, start, share }];
  let at = start;
  for (const child of module.children) {
    found.push(...cells(child, all, level + 1, at));
    at += child.params / all;
  }
  return found;
}

export function Icicle({ tree }: { tree: Module }) {
  const shown = tree.params ? cells(tree, tree.params) : [];
  const levels = 1 + Math.max(0, ...shown.map((one) => one.level));
  return (
    <svg
      class="icicle"
      viewBox="0 0 1000 480"
      role="img"
      aria-label="where the parameters are, as in the table of modules"
    >
      {shown.map(({ module, level, start, share }) => (
        <g key={module.module + module.name}>
          <title>{`${module.module || module.label}: ${whole(module.params)} (${percent(module.params, tree.params)})`}</title>
          <rect
            x={(1000 * level) / levels}
            y={480 * start}
            width={1000 / levels - 2}
            height={Math.max(1, 480 * share - 1)}
            class={`level-${level % 6}`}
          />
          {480 * share > 16 ? (
            <text x={(1000 * level) / levels + 6} y={480 * start + 13}>
              {module.name || module.label} {module.copies > 1 ? `× ${module.copies}` : ""}
            </text>
          ) : null}
        </g>
      ))}
    </svg>
  );
}
