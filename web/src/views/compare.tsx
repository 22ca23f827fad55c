import { answering } from "../answer";
import { type Changes, type Compared, type Forms, sizesIn } from "../compare/answer";
import { forms, other, plotted } from "../compare/asked";
import { drawing } from "../compare/curves";
import { Differences } from "../compare/differences";
import { atFirst, OverFields } from "../compare/over-fields";
import { Second } from "../compare/second";
import { Shape } from "../compare/shape";
import { call } from "../costs/asked";
import { ask, askLatest } from "../engine";
import { Problems } from "../parts/problems";
import { source, view } from "../state";
import type { FieldValue } from "../types";
import "../costs/costs.css";
import "../compare/compare.css";

const sides = (): string[] =>
  [source.value, ...(other.value ? [other.value] : [])].map((one) => JSON.stringify(one));
const looked = () => view.value === "compare";

const fields = answering(() =>
  looked() ? askLatest<FieldValue[]>("fields", JSON.stringify(source.value)) : undefined,
);
const theirFields = answering(() =>
  looked() && other.value ? ask<FieldValue[]>("fields", JSON.stringify(other.value)) : undefined,
);
const compared = answering(() => {
  if (!looked() || !other.value) return undefined;
  const sources: Compared["sources"] = [source.value, other.value];
  const asked = askLatest<Omit<Compared, "sources">>("changes", ...sides(), call.value);
  return asked.then((found): Compared => ({ ...found, sources }));
});
const closed = answering(() =>
  looked() && other.value && forms.value ? askLatest<Forms>("diff", ...sides()) : undefined,
);
const curves = drawing(() => {
  const known = fields.value;
  const settled = !known.pending && known.problems.length === 0;
  const asked = known.result && settled ? shown(known.result) : undefined;
  if (!looked() || !asked) return undefined;
  return { sources: asked.both ? sides() : sides().slice(0, 1), plotted: asked, call: call.value };
});

/** The plot to draw: the chosen one if the model has its fields. */
function shown(known: FieldValue[]) {
  const asked = plotted.value;
  const has = (name: string) => known.some((one) => one.field === name);
  if (!asked || !has(asked.field)) return atFirst(sizesIn(known));
  return asked.other && !has(asked.other) ? { ...asked, other: "", values: "" } : asked;
}

export function CompareView() {
  const { result, problems } = fields.value;
  const known = (problems.length === 0 && result) || [];
  const asked = shown(known);
  return (
    <section class="compare">
      <Second fields={(theirFields.value.result ?? known).map((one) => one.field)} />
      {other.value ? <Comparison /> : <p>Choose a second model, or change fields of this one.</p>}
      <Problems problems={problems} />
      {asked ? <OverFields sizes={sizesIn(known)} asked={asked} curves={curves} /> : null}
      <Shape />
    </section>
  );
}

function Comparison() {
  const { result, pending, problems } = compared.value;
  if (problems.length) return <Problems problems={problems} />;
  if (!result) return <p role="status">counting …</p>;
  const { a, b, diff } = result;
  return (
    <section aria-busy={pending || (forms.value && closed.value.pending)}>
      {"problems" in a ? <Problems problems={a.problems} /> : null}
      {"problems" in b ? <Problems problems={b.problems} /> : null}
      <Differences found={result} forms={forms.value ? matching(diff) : undefined} />
      <label class="switch">
        <input
          type="checkbox"
          checked={forms.value}
          onChange={(event) => (forms.value = event.currentTarget.checked)}
        />
        closed forms (loads SymPy, once)
      </label>
      {forms.value ? <Problems problems={closed.value.problems} /> : null}
    </section>
  );
}

/** The closed forms of the changes shown, once they have arrived. */
function matching(diff: Changes | null): Forms | undefined {
  const { result, pending } = closed.value;
  return diff && !pending && result?.changes.length === diff.changes.length ? result : undefined;
}
