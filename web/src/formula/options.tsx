/** The options of `archspec formula`. */
import { useSignal } from "@preact/signals";
import { GROUPS, QUANTITIES } from "../generated";
import { OptionsOf, Select } from "../parts/select";
import { like } from "../shapes";
import { keep } from "../state";

export const BY = GROUPS;
const NAMES: string[] = QUANTITIES.map(({ name }) => name);

/** `growing`: the fields that grow in the leading form; the default ones if empty. */
export interface Asked {
  quantity: string;
  by: (typeof BY)[number];
  depth: number;
  leading: boolean;
  growing: string[];
  assume: string[];
}

const FIRST: Asked = {
  quantity: "params",
  by: "repetition",
  depth: 1,
  leading: false,
  growing: [],
  assume: [],
};

export const asked = keep("formula", FIRST, like(FIRST, { quantity: NAMES, by: BY }));

function change(some: Partial<Asked>): void {
  asked.value = { ...asked.value, ...some };
}

/** `example`: an assumption that suits the model, or "". */
export function Options({ fields, example }: { fields: string[]; example: string }) {
  const { quantity, by, depth, leading, assume } = asked.value;
  return (
    <form class="options" aria-label="options of the formula" onSubmit={(event) => event.preventDefault()}>
      <Select label="Quantity" value={quantity} choose={(chosen) => change({ quantity: chosen })}>
        <OptionsOf values={NAMES} />
      </Select>
      <Select label="By" value={by} choose={(chosen) => change({ by: chosen as Asked["by"] })}>
        <OptionsOf values={BY} />
      </Select>
      {by === "module" ? (
        <label>
          Depth
          <input
            type="number"
            min={1}
            max={9}
            value={depth}
            onInput={(event) => change({ depth: Math.max(1, event.currentTarget.valueAsNumber || 1) })}
          />
        </label>
      ) : null}
      <Texts
        label="Assume (several: with ; between)"
        placeholder={example || "field = 4*other_field"}
        values={assume}
        change={(texts) => change({ assume: texts })}
      />
      <label class="inline">
        <input
          type="checkbox"
          role="switch"
          aria-checked={leading}
          checked={leading}
          onChange={(event) => change({ leading: event.currentTarget.checked })}
        />
        Leading terms only
      </label>
      {leading ? <Growing fields={fields} /> : null}
    </form>
  );
}

/** Ticked fields are always listed, because this model may lack a field that was ticked for the last one. */
function Growing({ fields }: { fields: string[] }) {
  const { growing } = asked.value;
  const turned = (name: string, grows: boolean) =>
    change({ growing: grows ? [...growing, name] : growing.filter((one) => one !== name) });
  return (
    <fieldset class="growing">
      <legend>growing fields (default: width, depth, experts, vocabulary)</legend>
      {[...new Set([...fields, ...growing])].map((one) => (
        <label key={one} class="inline">
          <input
            type="checkbox"
            checked={growing.includes(one)}
            onChange={(event) => turned(one, event.currentTarget.checked)}
          />
          {one}
        </label>
      ))}
    </fieldset>
  );
}

interface TextsProps {
  label: string;
  placeholder: string;
  values: string[];
  change: (values: string[]) => void;
}

/** Texts separated by semicolons, applied when editing ends. */
function Texts({ label, placeholder, values, change }: TextsProps) {
  const typed = useSignal<string | undefined>(undefined);
  const done = () => {
    if (typed.value === undefined) return;
    change(
      typed.value
        .split(";")
        .map((one) => one.trim())
        .filter(Boolean),
    );
    typed.value = undefined;
  };
  return (
    <label class="texts">
      {label}
      <input
        spellcheck={false}
        autocapitalize="off"
        placeholder={placeholder}
        value={typed.value ?? values.join("; ")}
        onInput={(event) => (typed.value = event.currentTarget.value)}
        onBlur={done}
        onKeyDown={(event) => (event.key === "Enter" ? done() : undefined)}
      />
    </label>
  );
}
