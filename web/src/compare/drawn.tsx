/** The plot with its refused points, and the same numbers as a table. */
import { type Whole, whole } from "../numbers";
import { Copies } from "../parts/copies";
import { Plot } from "../parts/plot";
import { ReportTable } from "../parts/report-table";
import { MOST_POINTS, type Plotted, QUANTITIES } from "./asked";
import { type Curves, type Line, SIDES } from "./curves";

const SAID = 5; // the most reasons listed

export function Drawn({ asked, curves }: { asked: Plotted; curves: Curves }) {
  const title = QUANTITIES[asked.quantity];
  const names = curves.lines.map((one) => named(one, asked));
  const counted = curves.values.flat().length;
  const refused = [...curves.refusals.values()].reduce((sum, one) => sum + one, 0);
  return (
    <div aria-busy={curves.pending}>
      <Plot
        name={title}
        field={asked.field}
        letter={asked.quantity.endsWith("params") ? "B" : "G"}
        log={asked.log}
        along={curves.along}
        curves={curves.lines.map(({ side, value }, rank) => ({
          name: names[rank] ?? "",
          colour: curves.lines.findIndex((one) => one.value === value),
          dashed: side > 0,
          values: curves.along.map((_, at) => height(curves.values[rank]?.[at])),
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
      <p class="note">{leftOut(asked, curves.along)}</p>
      <details>
        <summary>as a table</summary>
        <ReportTable
          name={`${title} over ${asked.field}`}
          table={{
            columns: [asked.field, ...names].map((one) => `>${one}`).join("|"),
            header: true,
            rows: curves.along.map((at, rank) => [
              whole(at),
              ...curves.values.map((values) => said(values[rank])),
            ]),
          }}
        />
        <Copies copies={{ CSV: csv(asked, names, curves) }} />
      </details>
    </div>
  );
}

function named({ side, value }: Line, { quantity, other, both }: Plotted): string {
  const of = value === undefined ? QUANTITIES[quantity] : `${other} = ${value}`;
  return both ? `${SIDES[side]}: ${of}` : of;
}

/** Notes the part of the range that is not drawn. */
function leftOut({ field, first, last, step }: Plotted, along: number[]): string {
  if (last < first) return "last is less than first; nothing to draw";
  const end = along.at(-1) ?? last;
  if (along.length < MOST_POINTS || end + step > last) return "";
  return `drawn up to ${field} = ${whole(end)}, the first ${MOST_POINTS} values; increase the step to draw more`;
}

/** A value as a float, which is precise enough for a plot. */
const height = (value: Whole | null | undefined) => (value == null ? value : Number(value));

function said(value: Whole | null | undefined): string {
  if (value === undefined) return "";
  return value === null ? "refused" : whole(value);
}

/** The table; cells of refused points are empty. */
function csv({ field }: Plotted, names: string[], { along, values }: Curves): string {
  const rows = along.map((at, rank) => [at, ...values.map((one) => one[rank] ?? "")].join(","));
  return [[field, ...names].join(","), ...rows].join("\n");
}
