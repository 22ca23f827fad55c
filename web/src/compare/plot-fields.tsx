/** The inputs of the plot, with errors next to them. */
import { useSignal } from "@preact/signals";
import { whole } from "../numbers";
import { OptionsOf, Select } from "../parts/select";
import { TextInput } from "../parts/text-input";
import type { Size } from "./answer";
import { MOST_CURVES, valuesIn } from "./asked";

interface Chosen {
  title: string;
  sizes: Size[];
  value: string;
  empty?: string;
  choose: (field: string) => void;
}

/** A choice of integer fields, including one from a link that is null here. */
export function Field({ title, sizes, value, empty, choose }: Chosen) {
  return (
    <Select class="two" label={title} value={value} choose={choose}>
      {empty ? <option value="">{empty}</option> : null}
      <OptionsOf values={[...new Set([...sizes.map((one) => one.field), ...(value ? [value] : [])])]} />
    </Select>
  );
}

interface BoundOf {
  name: string;
  value: number;
  choose: (value: number) => void;
}

/** A positive whole number. Other text stays until another value is drawn. */
export function Bound({ name, value, choose }: BoundOf) {
  const refused = useSignal({ text: "", drawn: Number.NaN });
  const wrong = refused.value.drawn === value;
  const id = `plot-${name}-wrong`;
  const commit = (text: string) => {
    const number = Number(text);
    const isTaken = Number.isSafeInteger(number) && number > 0;
    refused.value = { text, drawn: isTaken ? Number.NaN : value };
    if (isTaken) choose(number);
  };
  return (
    <>
      <label>
        {name}
        <TextInput
          type="number"
          min={1}
          value={wrong ? refused.value.text : String(value)}
          aria-invalid={wrong}
          aria-describedby={wrong ? id : undefined}
          commit={commit}
        />
      </label>
      <Refused
        id={id}
        said={wrong ? `${name} must be a positive whole number; the plot uses ${whole(value)}` : ""}
      />
    </>
  );
}

/** Values separated by commas. */
export function Values({ text, choose }: { text: string; choose: (text: string) => void }) {
  const said = leftOf(text);
  const id = "plot-values-wrong";
  return (
    <>
      <label>
        its values
        <TextInput
          value={text}
          aria-invalid={said !== ""}
          aria-describedby={said ? id : undefined}
          commit={choose}
        />
      </label>
      <Refused id={id} said={said} />
    </>
  );
}

/** Lists the values that are not drawn. */
function leftOf(text: string): string {
  const { taken, unread, beyond } = valuesIn(text);
  const none = taken.length ? "" : "no value; the plot uses the value of A";
  const words = unread.length ? `not drawn, because not whole numbers: ${unread.join(", ")}` : "";
  const many = beyond.length
    ? `not drawn, because of the limit of ${MOST_CURVES} curves: ${beyond.join(", ")}`
    : "";
  return [words, many, none].filter(Boolean).join("; ");
}

function Refused({ id, said }: { id: string; said: string }) {
  if (!said) return null;
  return (
    <p role="alert" class="refusal wide" id={id}>
      {said}
    </p>
  );
}
