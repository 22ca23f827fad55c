/** The modules as in `print(model)`, foldable, with shares. */
import { useSignal } from "@preact/signals";
import { percent, type Whole, whole } from "../numbers";
import type { Module } from "../types";

interface Props {
  module: Module;
  all: Whole;
  open?: number; // levels open at first
  level?: number;
}

export function ModuleTree({ module, all, open = 3, level = 0 }: Props) {
  const opened = useSignal(open > 0); // folded nodes are not rendered: some models have thousands of modules
  const row = <Row module={module} all={all} level={level} />;
  if (module.children.length === 0) return <div class="leaf">{row}</div>;
  return (
    <details
      class="branch"
      open={opened.value}
      onToggle={(event) => (opened.value = event.currentTarget.open)}
    >
      <summary>{row}</summary>
      {opened.value
        ? module.children.map((one) => (
            <ModuleTree key={one.module} module={one} all={all} open={open - 1} level={level + 1} />
          ))
        : null}
    </details>
  );
}

function Row({ module, all, level }: { module: Module; all: Whole; level: number }) {
  const share = percent(module.params, all);
  return (
    <span class="module" style={{ "--level": level, "--share": share }}>
      <span class="name">
        {module.name ? <b>{module.name}</b> : null} {module.copies > 1 ? `${module.copies} × ` : ""}
        {module.label} <i>{module.marks.join(", ")}</i>
      </span>
      <span class="number">{whole(module.params)}</span>
      <span class="number share">{share}</span>
    </span>
  );
}
