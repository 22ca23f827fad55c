/** What costs are asked of, as a form: the engine says what it refuses of it. */
import type { Signal } from "@preact/signals";
import { OptionsOf, Select } from "../parts/select";
import {
  ABOUT_MEMORY,
  ACCELERATORS,
  accelerator,
  call,
  chosen,
  DTYPES,
  FORMATS,
  OPTIMIZERS,
  TRAINED_DTYPES,
  training,
} from "./asked";

const LENGTHS = [
  ["batch", "batch", 1],
  ["tokens", "tokens", 1],
  ["past", "past in the cache", 0],
] as const;
const RANKS = [
  ["data_parallel", "data parallel ranks"],
  ["zero", "ZeRO stage"],
  ["tensor_parallel", "tensor parallel ranks"],
  ["pipeline_parallel", "pipeline parallel ranks"],
  ["expert_parallel", "expert parallel ranks"],
] as const;

export function CostsForm() {
  return (
    <form class="asked" onSubmit={(event) => event.preventDefault()}>
      <fieldset>
        <legend>Call</legend>
        {LENGTHS.map(([name, title, least]) => (
          <Whole key={name} held={call} name={name} title={title} least={least} />
        ))}
        <Whole held={call} name="memory" title="encoder positions" least={1} empty />
        <Choice held={call} name="dtype" options={DTYPES} otherwise="the config's own" />
        <Choice held={call} name="weights" options={FORMATS} otherwise="as the config says" />
        <Switch held={call} name="last" title="logits of the last position only" />
      </fieldset>
      <fieldset>
        <legend>Training step, of batch and tokens above on each rank</legend>
        <Choice held={training} name="optimizer" options={Object.keys(OPTIMIZERS)} />
        <Choice held={training} name="dtype" title="weights in" options={TRAINED_DTYPES} />
        <Choice held={training} name="attention" options={["flash", "eager"]} />
        <Switch held={training} name="checkpointing" title="checkpointing of every layer" />
        {RANKS.map(([name, title]) => (
          <Whole key={name} held={training} name={name} title={title} least={name === "zero" ? 0 : 1} />
        ))}
        <p class="note">{OPTIMIZERS[training.value.optimizer]?.about}</p>
      </fieldset>
      <fieldset>
        <legend>Accelerator</legend>
        <Select label="memory of one" value={chosen.value} choose={(name) => (chosen.value = name)}>
          <OptionsOf values={ACCELERATORS.map(({ name, memory }) => [name, `${name}: ${memory}`])} />
        </Select>
        <p class="note">
          {accelerator().source}. {ABOUT_MEMORY}
        </p>
      </fieldset>
    </form>
  );
}

interface Entry<Value> {
  held: Signal<Value>;
  name: keyof Value & string;
  title?: string;
}

/** A whole number. What is no number is not taken, but for nothing where that may be. */
function Whole<Value>({
  held,
  name,
  title,
  least,
  empty = false,
}: Entry<Value> & { least: number; empty?: boolean }) {
  return (
    <label>
      {title ?? name}
      <input
        type="number"
        inputMode="numeric"
        min={least}
        placeholder={empty ? "none" : ""}
        value={(held.value[name] as number | null) ?? ""}
        onChange={(event) => {
          const { value, valueAsNumber } = event.currentTarget;
          if (empty && value === "") held.value = { ...held.value, [name]: null };
          else if (Number.isSafeInteger(valueAsNumber)) held.value = { ...held.value, [name]: valueAsNumber };
          else event.currentTarget.value = String(held.value[name] ?? "");
        }}
      />
    </label>
  );
}

function Choice<Value>({
  held,
  name,
  title,
  options,
  otherwise,
}: Entry<Value> & { options: string[]; otherwise?: string }) {
  return (
    <Select
      label={title ?? name}
      value={(held.value[name] as string | null) ?? ""}
      choose={(value) => (held.value = { ...held.value, [name]: value || null })}
    >
      {otherwise ? <option value="">{otherwise}</option> : null}
      <OptionsOf values={options} />
    </Select>
  );
}

function Switch<Value>({ held, name, title }: Entry<Value>) {
  return (
    <label class="switch">
      <input
        type="checkbox"
        checked={held.value[name] as boolean}
        onChange={(event) => (held.value = { ...held.value, [name]: event.currentTarget.checked })}
      />
      {title ?? name}
    </label>
  );
}
