/** A quantity over a field or two, by single counts: what is drawn, the curves, and the same as a table. */
import { whole } from "../numbers";
import { Plot } from "../parts/plot";
import { ReportTable } from "../parts/report-table";
import type { Size } from "./answer";
import { around, MOST_CURVES, MOST_POINTS, type Plotted, plotted, QUANTITIES, type Quantity } from "./asked";
import type { Curves } from "./curves";

const SAID = 5; // reasons why points are refused
const USUAL = ["hidden_size", "n_embd", "d_model", "num_hidden_layers"];

/** What is drawn where nothing has been chosen: parameters over the width. */
export function atFirst(sizes: Size[]): Plotted | undefined {
  const named = (name: string) => sizes.find((one) => one.field.split(".").at(-1) === name);
  const one = USUAL.map(named).find(Boolean) ?? sizes[0];
  if (!one) return undefined;
  return { quantity: "params", field: one.field, ...around(one.value), other: "", values: "", log: false };
}

export function OverFields({
  sizes,
  asked,
  curves,
}: {
  sizes: Size[];
  asked: Plotted;
  curves: Curves | undefined;
}) {
  const change = (changed: Partial<Plotted>) => (plotted.value = { ...asked, ...changed });
  const value = (name: string) => sizes.find((one) => one.field === name)?.value ?? 1;
  return (
    <section>
      <h2>A over a field</h2>
      <form class="asked" onSubmit={(event) => event.preventDefault()}>
        <fieldset>
          <legend>What is drawn</legend>
          <label>
            quantity
            <select
              value={asked.quantity}
              onChange={(event) => change({ quantity: event.currentTarget.value as Quantity })}
            >
              {Object.entries(QUANTITIES).map(([name, title]) => (
                <option key={name} value={name}>
                  {title}
                </option>
              ))}
            </select>
          </label>
          <Field
            title="over"
            sizes={sizes}
            value={asked.field}
            choose={(field) => change({ field, ...around(value(field)) })}
          />
          {(["first", "last", "step"] as const).map((name) => (
            <label key={name}>
              {name}
              <input
                type="number"
                min={1}
                value={asked[name]}
                onChange={(event) => {
                  const typed = event.currentTarget.valueAsNumber;
                  if (Number.isSafeInteger(typed) && typed > 0) change({ [name]: typed });
                }}
              />
            </label>
          ))}
          <Field
            title="a curve for each value of"
            sizes={sizes}
            value={asked.other}
            empty="no other field"
            choose={(other) => change({ other, values: other ? curvesOf(value(other)) : "" })}
          />
          {asked.other ? (
            <label>
              its values
              <input
                value={asked.values}
                onChange={(event) => change({ values: event.currentTarget.value })}
              />
            </label>
          ) : null}
          <label class="switch">
            <input
              type="checkbox"
              checked={asked.log}
              onChange={(event) => change({ log: event.currentTarget.checked })}
            />
            logarithmic
          </label>
          <p class="note">
            At most {MOST_POINTS} values and {MOST_CURVES} curves; FLOPs and cache are of the call that Costs
            asks of.
          </p>
        </fieldset>
      </form>
      {curves ? <Drawn asked={asked} curves={curves} /> : <p role="status">counting …</p>}
    </section>
  );
}

function curvesOf(own: number): string {
  return [...new Set([Math.max(1, Math.round(own / 2)), own, 2 * own])].join(", ");
}

interface Chosen {
  title: string;
  sizes: Size[];
  value: string;
  empty?: string;
  choose: (field: string) => void;
}

function Field({ title, sizes, value, empty, choose }: Chosen) {
  return (
    <label>
      {title}
      <select value={value} onChange={(event) => choose(event.currentTarget.value)}>
        {empty ? <option value="">{empty}</option> : null}
        {sizes.map((one) => (
          <option key={one.field} value={one.field}>
            {one.field}
          </option>
        ))}
      </select>
    </label>
  );
}

function Drawn({ asked, curves }: { asked: Plotted; curves: Curves }) {
  const title = QUANTITIES[asked.quantity];
  const named = curves.curves.map((one) => (one === undefined ? title : `${asked.other} = ${one}`));
  const counted = curves.values.flat().length;
  const refused = [...curves.refusals.values()].reduce((sum, one) => sum + one, 0);
  return (
    <div aria-busy={curves.pending}>
      <Plot
        name={title}
        field={asked.field}
        log={asked.log}
        along={curves.along}
        curves={named.map((name, rank) => ({
          name,
          values: curves.along.map((_, at) => curves.values[rank]?.[at]),
        }))}
      />
      <p id="counted">
        {whole(counted)} points{curves.pending ? " so far" : ""}
        {refused ? `, ${whole(refused)} of them refused:` : ""}
      </p>
      <ul>
        {[...curves.refusals].slice(0, SAID).map(([message, count]) => (
          <li key={message}>
            {message} {count > 1 ? `(${whole(count)} points)` : ""}
          </li>
        ))}
        {curves.refusals.size > SAID ? <li>and {whole(curves.refusals.size - SAID)} more reasons</li> : null}
      </ul>
      <details>
        <summary>as a table</summary>
        <ReportTable
          name={`${title} over ${asked.field}`}
          table={{
            columns: [asked.field, ...named].map((one) => `>${one}`).join("|"),
            header: true,
            rows: curves.along.map((at, rank) => [
              whole(at),
              ...curves.values.map((values) => said(values[rank])),
            ]),
          }}
        />
      </details>
    </div>
  );
}

function said(value: number | null | undefined): string {
  if (value === undefined) return "";
  return value === null ? "refused" : whole(value);
}
