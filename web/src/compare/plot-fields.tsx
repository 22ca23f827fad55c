/** The fields that say what is drawn over what; what one does not take is said beside it. */
import { useSignal } from "@preact/signals";
import { whole } from "../numbers";
import { OptionsOf, Select } from "../parts/select";
import type { Size } from "./answer";
import { MOST_CURVES, valuesIn } from "./asked";

interface Chosen {
  title: string;
  sizes: Size[];
  value: string;
  empty?: string;
  choose: (field: string) => void;
}

/** A field of the sizes, or the one that a link has chosen though its value is none here. */
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

/** A whole number from 1 on. Anything else stays as it was typed, until another value is drawn. */
export function Bound({ name, value, choose }: BoundOf) {
  const refused = useSignal({ text: "", drawn: Number.NaN });
  const wrong = refused.value.drawn === value;
  const id = `plot-${name}-wrong`;
  const typed = (event: Event & { currentTarget: HTMLInputElement }) => {
    const { value: text, valueAsNumber } = event.currentTarget;
    const isTaken = Number.isSafeInteger(valueAsNumber) && valueAsNumber > 0;
    refused.value = { text, drawn: isTaken ? Number.NaN : value };
    if (isTaken) choose(valueAsNumber);
  };
  return (
    <>
      <label>
        {name}
        <input
          type="number"
          min={1}
          value={wrong ? refused.value.text : value}
          aria-invalid={wrong}
          aria-describedby={wrong ? id : undefined}
          onChange={typed}
        />
      </label>
      <Refused id={id} said={wrong ? `${name} is a whole number from 1 on; drawn is ${whole(value)}` : ""} />
    </>
  );
}

/** Values with commas between. */
export function Values({ text, choose }: { text: string; choose: (text: string) => void }) {
  const said = leftOf(text);
  const id = "plot-values-wrong";
  return (
    <>
      <label>
        its values
        <input
          value={text}
          aria-invalid={said !== ""}
          aria-describedby={said ? id : undefined}
          onChange={(event) => choose(event.currentTarget.value)}
        />
      </label>
      <Refused id={id} said={said} />
    </>
  );
}

/** What of the values is not drawn. */
function leftOf(text: string): string {
  const { taken, unread, beyond } = valuesIn(text);
  const none = taken.length ? "" : "no value: drawn is the curve at A's own";
  const words = unread.length ? `not whole numbers, and not drawn: ${unread.join(", ")}` : "";
  const many = beyond.length ? `more than ${MOST_CURVES} curves, and not drawn: ${beyond.join(", ")}` : "";
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
