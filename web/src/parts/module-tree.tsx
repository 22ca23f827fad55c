/** The modules as `print(model)` has them, foldable, with shares. */
import { percent, whole } from "../numbers";
import type { Module } from "../types";

export function ModuleTree({ module, all, open = 2 }: { module: Module; all: number; open?: number }) {
  const row = (
    <span class="module">
      <span>
        {module.name ? <b>{module.name}</b> : null} {module.copies > 1 ? `${module.copies} × ` : ""}
        {module.label} <i>{module.marks.join(", ")}</i>
      </span>
      <span class="number">{whole(module.params)}</span>
      <span class="number">{percent(module.params, all)}</span>
    </span>
  );
  if (module.children.length === 0) return <div class="leaf">{row}</div>;
  return (
    <details class="branch" open={open > 0}>
      <summary>{row}</summary>
      {module.children.map((one) => (
        <ModuleTree key={one.module} module={one} all={all} open={open - 1} />
      ))}
    </details>
  );
}
