/** The plot of a quantity over one or two fields. */
import type { ReadonlySignal } from "@preact/signals";
import { OptionsOf, Select } from "../parts/select";
import type { Size } from "./answer";
import {
  around,
  MOST_CURVES,
  MOST_POINTS,
  type Plotted,
  plotted,
  QUANTITIES,
  type Quantity,
  other as second,
} from "./asked";
import type { Curves } from "./curves";
import { Drawn } from "./drawn";
import { Bound, Field, Values } from "./plot-fields";

const USUAL = ["hidden_size", "n_embd", "d_model", "num_hidden_layers"];

/** The default plot: parameters over the width. */
export function atFirst(sizes: Size[]): Plotted | undefined {
  const named = (name: string) => sizes.find((one) => one.field.split(".").at(-1) === name);
  const one = USUAL.map(named).find(Boolean) ?? sizes[0];
  if (!one) return undefined;
  return {
    quantity: "params",
    field: one.field,
    ...around(one.value),
    other: "",
    values: "",
    log: false,
    both: false,
  };
}

export function OverFields({
  sizes,
  asked,
  curves,
}: {
  sizes: Size[];
  asked: Plotted;
  curves: ReadonlySignal<Curves | undefined>;
}) {
  const change = (changed: Partial<Plotted>) => (plotted.value = { ...asked, ...changed });
  const value = (name: string) => sizes.find((one) => one.field === name)?.value ?? 1;
  return (
    <section>
      <h2>A over a field</h2>
      <form class="asked" onSubmit={(event) => event.preventDefault()}>
        <fieldset>
          <legend>Plot</legend>
          <Select
            class="two"
            label="quantity"
            value={asked.quantity}
            choose={(chosen) => change({ quantity: chosen as Quantity })}
          >
            <OptionsOf values={Object.entries(QUANTITIES)} />
          </Select>
          <Field
            title="over"
            sizes={sizes}
            value={asked.field}
            choose={(field) => change({ field, ...around(value(field)) })}
          />
          {(["first", "last", "step"] as const).map((name) => (
            <Bound key={name} name={name} value={asked[name]} choose={(typed) => change({ [name]: typed })} />
          ))}
          <Field
            title="one curve per value of"
            sizes={sizes}
            value={asked.other}
            empty="no other field"
            choose={(other) => change({ other, values: other ? curvesOf(value(other)) : "" })}
          />
          {asked.other ? <Values text={asked.values} choose={(values) => change({ values })} /> : null}
          <Switches asked={asked} change={change} />
          <Gone asked={asked} />
          <p class="note">
            At most {MOST_POINTS} values and {MOST_CURVES} curves; FLOPs and cache use the lengths set in the
            Costs view.
          </p>
        </fieldset>
      </form>
      <Drawing asked={asked} curves={curves} />
    </section>
  );
}

/** A component of its signals only: rendering the form with each point would discard what is being typed. */
function Drawing({ asked, curves }: { asked: Plotted; curves: ReadonlySignal<Curves | undefined> }) {
  const shown = curves.value;
  return shown ? <Drawn asked={asked} curves={shown} /> : <p role="status">counting …</p>;
}

interface Changed {
  asked: Plotted;
  change: (changed: Partial<Plotted>) => void;
}

function Switches({ asked, change }: Changed) {
  return (
    <>
      <label class="switch">
        <input
          type="checkbox"
          checked={asked.log}
          onChange={(event) => change({ log: event.currentTarget.checked })}
        />
        logarithmic
      </label>
      {second.value ? (
        <label class="switch">
          <input
            type="checkbox"
            checked={asked.both === true}
            onChange={(event) => change({ both: event.currentTarget.checked })}
          />
          also B (dashed)
        </label>
      ) : null}
    </>
  );
}

/** Names the chosen fields that this model lacks. */
function Gone({ asked }: { asked: Plotted }) {
  const { field, other } = plotted.value ?? asked;
  const gone = [field, other].filter((one) => one && one !== asked.field && one !== asked.other);
  if (gone.length === 0) return null;
  return (
    <p role="status" class="note">
      A lacks {gone.join(" and ")}, which the last plot used.
    </p>
  );
}

function curvesOf(own: number): string {
  return [...new Set([Math.max(1, Math.round(own / 2)), own, 2 * own])].join(", ");
}
