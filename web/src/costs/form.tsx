/** The form with the inputs of costs; the engine reports invalid ones. */
import type { Signal } from "@preact/signals";
import { AXES, CALL } from "../generated";
import { whole } from "../numbers";
import { OptionsOf, Select } from "../parts/select";
import {
  ABOUT_MEMORY,
  ACCELERATORS,
  type Accelerator,
  accelerator,
  call,
  chosen,
  DTYPES,
  FORMATS,
  GIVEN,
  OPTIMIZERS,
  OWN,
  ownGib,
  SOURCES,
  TRAINED_DTYPES,
  training,
} from "./asked";

const RANKS = [
  ["data_parallel", "data parallel"],
  ["zero", "ZeRO stage"],
  ["tensor_parallel", "tensor parallel"],
  ["pipeline_parallel", "pipeline parallel"],
  ["expert_parallel", "expert parallel"],
] as const;

/** `usual`: the default number of tokens. */
export function CostsForm({ usual }: { usual: number | undefined }) {
  return (
    <form class="asked" onSubmit={(event) => event.preventDefault()}>
      <fieldset>
        <legend>Call</legend>
        {AXES.map(({ name, help }) => (
          <Whole
            key={name}
            held={call}
            name={name}
            title={name.replaceAll("_", " ")}
            about={help}
            none={name === "tokens" && usual ? whole(usual) : CALL[name] === null ? "none" : undefined}
          />
        ))}
        <Choice held={call} name="dtype" options={DTYPES} otherwise="as configured" />
        <Choice held={call} name="weights" options={FORMATS} otherwise="as configured" />
        <Switch held={call} name="last" title="logits of the last token only" />
        <p class="note">
          Prefill is one forward pass over the tokens of the prompt. A decode step is a forward pass of one
          token, with the earlier ones as past tokens in the cache.
        </p>
      </fieldset>
      <fieldset>
        <legend>Accelerator</legend>
        <Select
          class="wide"
          label="accelerator"
          value={accelerator.value?.name ?? OWN}
          choose={(name) => (chosen.value = name)}
        >
          <OptionsOf values={ACCELERATORS.map(({ name, memory }) => [name, `${name}: ${memory}`])} />
          <option value={OWN}>custom memory</option>
        </Select>
        {accelerator.value ? <Source one={accelerator.value} /> : <OwnMemory />}
      </fieldset>
      <fieldset>
        <legend>Training step</legend>
        <Choice held={training} name="optimizer" options={Object.keys(OPTIMIZERS)} />
        <Choice held={training} name="dtype" title="weights in" options={TRAINED_DTYPES} />
        <Choice held={training} name="attention" options={["flash", "eager"]} />
        <Switch held={training} name="checkpointing" title="checkpointing of every layer" />
        {RANKS.map(([name, title]) => (
          <Whole key={name} held={training} name={name} title={title} />
        ))}
        <p class="note">
          Batch and tokens are those above, on each data-parallel rank; a degree is a number of ranks.{" "}
          {training.value.optimizer}: {OPTIMIZERS[training.value.optimizer]?.about}.
        </p>
      </fieldset>
    </form>
  );
}

function Source({ one }: { one: Accelerator }) {
  const given = one.given && GIVEN[one.given];
  return (
    <div class="note">
      {one.memory}: <Link to={SOURCES[one.source]} />.{" "}
      {given ? (
        <>
          Seen for programs: <Link to={{ url: given.url, title: `${given.memory} of ${given.to}` }} />.{" "}
        </>
      ) : null}
      <details>
        <summary>GB or GiB?</summary>
        {ABOUT_MEMORY}
      </details>
    </div>
  );
}

function Link({ to }: { to: { title: string; url: string } | undefined }) {
  return to ? <a href={to.url}>{to.title}</a> : null;
}

function OwnMemory() {
  return (
    <label>
      its GiB
      <input
        type="number"
        min="0.1"
        step="any"
        value={ownGib.value}
        onChange={(event) => {
          const { valueAsNumber } = event.currentTarget;
          if (valueAsNumber > 0) ownGib.value = valueAsNumber;
          else event.currentTarget.value = String(ownGib.value);
        }}
      />
    </label>
  );
}

interface Entry<Value> {
  held: Signal<Value>;
  name: keyof Value & string;
  title?: string;
}

/** An input for a whole number, with thousands separators. It ignores other text; empty is allowed if `none` describes it. */
function Whole<Value>({
  held,
  name,
  title,
  about,
  none,
}: Entry<Value> & { about?: string; none?: string | undefined }) {
  const written = (value: unknown) => (value === null ? "" : whole(value as number));
  return (
    <label>
      {title ?? name}
      <input
        title={about}
        inputMode="numeric"
        autocomplete="off"
        placeholder={none ?? ""}
        value={written(held.value[name])}
        onChange={(event) => {
          const digits = event.currentTarget.value.replace(/[\s,_]/g, "");
          const value = /^\d+$/.test(digits) ? Number(digits) : Number.NaN;
          if (none && digits === "") held.value = { ...held.value, [name]: null };
          else if (Number.isSafeInteger(value)) held.value = { ...held.value, [name]: value };
          event.currentTarget.value = written(held.value[name]);
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
