/** What is drawn over a field or two. */
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

const USUAL = ["hidden_size", "n_embd", "d_model", "num_hidden_layers"];

/** What is drawn where nothing has been chosen: parameters over the width. */
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
          {second.value ? (
            <label class="switch">
              <input
                type="checkbox"
                checked={asked.both === true}
                onChange={(event) => change({ both: event.currentTarget.checked })}
              />
              B, too (dashed)
            </label>
          ) : null}
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
    <Select class="two" label={title} value={value} choose={choose}>
      {empty ? <option value="">{empty}</option> : null}
      <OptionsOf values={sizes.map((one) => one.field)} />
    </Select>
  );
}
