/** Two models side by side: their counts, and the modules and fields that differ. */
import { QUANTITIES } from "../generated";
import { percent, signed, type Whole, whole } from "../numbers";
import { Problems } from "../parts/problems";
import { ReportTable } from "../parts/report-table";
import { keep, type Source } from "../state";
import type { Counts } from "../types";
import type { Change, Compared, Forms } from "./answer";

const sizes = (a: Counts, b: Counts): [keyof Counts, string][] => [
  ...QUANTITIES.map(({ name, title }): [keyof Counts, string] => [name, title]),
  ["bytes", a.dtype === b.dtype ? `bytes, ${a.dtype}` : `bytes, A ${a.dtype}, B ${b.dtype}`],
];
const COSTS: Record<string, string> = {
  flops: "FLOPs of the forward pass",
  cache_elements: "KV cache elements",
};

const FEW = 8; // changes shown without folding
const largestFirst = keep("largest", false);

export function Differences({ found, forms }: { found: Compared; forms: Forms | undefined }) {
  const { a, b, diff, costs, sources } = found;
  if ("problems" in a || "problems" in b || !diff) return null;
  const [ours, theirs] = [a.result, b.result];
  const called = costs && "result" in costs ? costs.result : { changes: [], notes: [] };
  const numbers = [
    ...sizes(ours, theirs).map(([name, title]) => [title, ours[name], theirs[name]] as const),
    ...called.changes.map((one) => [COSTS[one.quantity] ?? one.quantity, one.before, one.after] as const),
  ].filter((row): row is readonly [string, Whole, Whole] => row[1] !== null && row[2] !== null);
  return (
    <>
      <h2>
        {titled(sources[0], ours)} and {titled(sources[1], theirs)}
      </h2>
      <ReportTable
        name="numbers of both"
        table={{ columns: " |>A|>B|>B − A|>", header: true, rows: numbers.map(rowOf) }}
      />
      {costs && "problems" in costs ? <Problems problems={costs.problems} /> : null}
      <ul class="notes note">
        {[ours, theirs].flatMap(({ notes }, side) =>
          notes.map((one) => (
            <li key={`${side} ${one}`}>
              {"AB"[side]}: {one}
            </li>
          )),
        )}
        {called.notes.map((one) => (
          <li key={one}>{one}</li>
        ))}
      </ul>
      <h2>Differences</h2>
      {diff.changes.length ? (
        <Changed changes={diff.changes} all={ours.params} forms={forms} />
      ) : (
        <p>no difference: the same tensors, sizes and ties</p>
      )}
      {diff.prefixes.some(Boolean) ? (
        <p class="note">
          {diff.prefixes[0] || "the whole"} of A is aligned with {diff.prefixes[1] || "the whole"} of B
        </p>
      ) : null}
      <FieldsThatDiffer fields={diff.fields} />
    </>
  );
}

/** A model's label and class. */
function titled({ label, set }: Source, { architecture }: Counts): string {
  const name = label ? `${label} (${architecture})` : architecture;
  const fields = Object.entries(set ?? {}).map(([field, value]) => `${field} = ${JSON.stringify(value)}`);
  return fields.length ? `${name} at ${fields.join(", ")}` : name;
}

function rowOf([title, a, b]: readonly [string, Whole, Whole]): string[] {
  return [title, whole(a), whole(b), signed(BigInt(b) - BigInt(a)), Number(a) ? `${percent(b, a)} of A` : ""];
}

function Changed({ changes, all, forms }: { changes: Change[]; all: Whole; forms: Forms | undefined }) {
  const head = "change|module|>params|>of A|A|B";
  const listed = changes.map((one, rank) => ({ ...one, formula: forms?.changes[rank]?.formula ?? "" }));
  const size = (one: Change) => Math.abs(Number(one.params)) || Math.abs(Number(one.buffers));
  if (largestFirst.value) listed.sort((one, other) => size(other) - size(one));
  return (
    <>
      {changes.length > FEW ? (
        <label class="switch">
          <input
            type="checkbox"
            checked={largestFirst.value}
            onChange={(event) => (largestFirst.value = event.currentTarget.checked)}
          />
          largest first
        </label>
      ) : null}
      <ReportTable
        name="modules that differ"
        table={{
          columns: forms ? `${head}|formula` : head,
          header: true,
          rows: listed.map((one) => [
            one.kind,
            one.module,
            one.buffers && !one.params ? `${signed(one.buffers)} in buffers` : signed(one.params),
            percent(one.params, all),
            one.before,
            one.after,
            ...(forms ? [one.formula] : []),
          ]),
        }}
      />
      {forms?.formula ? (
        <p>
          B − A = <code>{forms.formula}</code>
        </p>
      ) : null}
      {forms?.missing ? <p class="note">there is no closed form: {forms.missing}</p> : null}
    </>
  );
}

function FieldsThatDiffer({ fields }: { fields: Record<string, { a: unknown; b: unknown }> }) {
  const rows = Object.entries(fields).map(([name, { a, b }]) => [name, JSON.stringify(a), JSON.stringify(b)]);
  if (rows.length === 0) return null;
  return (
    <details>
      <summary>fields that differ: {rows.length}</summary>
      <ReportTable name="fields that differ" table={{ columns: "field|A|B", header: true, rows }} />
    </details>
  );
}
