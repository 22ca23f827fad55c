/** One field: a number with a slider, a switch, a choice, or JSON. */
import type { Problem } from "../engine";
import { InputProblems } from "../parts/problems";
import { TextInput } from "../parts/text-input";
import type { FieldValue } from "../types";
import { turn } from "./fields";
import { headCounts, type Range, range } from "./range";

interface Props {
  field: FieldValue; // with its value in the config
  value: unknown; // set by the user, or derived
  isSet: boolean;
  heads: number[];
  problems: Problem[];
}

export function Knob({ field, value, isSet, heads, problems }: Props) {
  const id = `knob-${field.field}`;
  return (
    <div class="knob" data-set={isSet}>
      <label for={id}>{field.field}</label>
      <span class="controls">
        <Control id={id} field={field} value={value} heads={heads} wrong={problems.length > 0} />
        {isSet ? (
          <button
            type="button"
            aria-label={`reset ${field.field}`}
            onClick={() => turn(field.field, undefined)}
          >
            ↺
          </button>
        ) : null}
      </span>
      <InputProblems problems={problems} id={`${id}-wrong`} />
    </div>
  );
}

interface ControlProps {
  id: string;
  field: FieldValue;
  value: unknown;
  heads: number[];
  wrong: boolean;
}

function Control({ id, field, value, heads, wrong }: ControlProps) {
  const { types, choices } = field;
  const said = { id, "aria-invalid": wrong, "aria-describedby": wrong ? `${id}-wrong` : undefined };
  const numeric = types.includes("int") || types.includes("float");
  if (numeric && (typeof value === "number" || value === null)) {
    const around = range(Number(field.value ?? 0), heads);
    return <NumberControl said={said} field={field} value={value} around={around} />;
  }
  if (typeof value === "boolean") {
    return (
      <input
        {...said}
        type="checkbox"
        role="switch"
        aria-checked={value}
        checked={value}
        onChange={(event) => turn(field.field, event.currentTarget.checked)}
      />
    );
  }
  if (typeof value === "string" && choices.length) {
    return (
      <select {...said} value={value} onChange={(event) => turn(field.field, event.currentTarget.value)}>
        {[...new Set([String(field.value), value, ...choices])].map((one) => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
      </select>
    );
  }
  return (
    <TextInput
      {...said}
      class="json"
      spellcheck={false}
      value={JSON.stringify(value)}
      commit={(text) => turn(field.field, parsed(text))}
    />
  );
}

interface NumberProps {
  said: { id: string };
  field: FieldValue;
  value: number | null;
  around: Range;
}

function NumberControl({ said, field, value, around }: NumberProps) {
  const turned = (event: Event & { currentTarget: HTMLInputElement }) => {
    const text = event.currentTarget.value;
    if (text !== "") turn(field.field, Number(text));
    else if (field.types.includes("None")) turn(field.field, null);
  };
  return (
    <>
      <Slider field={field} value={value} around={around} />
      <input
        {...said}
        type="number"
        step={field.types.includes("float") ? "any" : 1}
        placeholder="null"
        value={value ?? ""}
        onInput={turned}
      />
    </>
  );
}

const HEADS = /heads?$/; // most other head counts do not divide the width

/** A slider; none if the config has no number, because there is no range for it. */
function Slider({ field, value, around }: Omit<NumberProps, "said">) {
  if (typeof field.value !== "number") return null;
  const name = `${field.field}, slider`;
  if (!HEADS.test(field.field) || field.value < 1) {
    return (
      <input
        type="range"
        aria-label={name}
        {...around}
        value={value ?? 0}
        onInput={(event) => turn(field.field, Number(event.currentTarget.value))}
      />
    );
  }
  const offered = headCounts(field.value);
  const at = offered.findLastIndex((one) => one <= (value ?? 0));
  return (
    <input
      type="range"
      aria-label={name}
      aria-valuetext={String(value)}
      min={0}
      max={offered.length - 1}
      value={Math.max(0, at)}
      onInput={(event) => turn(field.field, offered[Number(event.currentTarget.value)])}
    />
  );
}

/** The parsed JSON, or the text if it is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
