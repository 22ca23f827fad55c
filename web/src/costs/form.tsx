/** The form with the inputs of costs; the engine reports invalid ones. */
import type { Signal } from "@preact/signals";
import type { Problem } from "../engine";
import { AXES, CALL } from "../generated";
import { whole } from "../numbers";
import { InputProblems } from "../parts/problems";
import { OptionsOf, Select } from "../parts/select";
import { TextInput } from "../parts/text-input";
import type { Inputs } from "./answer";
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

const LENGTHS = [
  ...AXES,
  {
    name: "text_tokens",
    help: "text tokens per sequence; the tokens of images, videos and audio are added",
  } as const,
];
const ITEMS = [
  ["images", "1024x768 (width x height), or 4@1024x768 for four; other sizes after a comma"],
  ["videos", "16@448x448 (frames, width x height); others after a comma"],
  ["audios", "30s, 480000 (samples), or 3000f (feature frames); others after a comma"],
] as const;
const TITLES: Record<string, string> = { audios: "audio", processed: "sizes are those of the tensors" };
const OF_TEXT: Inputs = { batch: "", tokens: "", past: "", encoder_tokens: "", last: "" };

export const titleOfInput = (name: string) => TITLES[name] ?? name.replaceAll("_", " ");

interface Asked {
  inputs: Inputs | undefined; // undefined until the class is known
  usual: number | undefined; // the default number of tokens
  problems: Problem[]; // of the inputs
}

export function CostsForm({ inputs = OF_TEXT, usual, problems }: Asked) {
  const lengths = LENGTHS.filter(({ name }) => name in inputs);
  const wrongAt = (name: string) => problems.filter(({ input }) => input === name);
  return (
    <form class="asked" onSubmit={(event) => event.preventDefault()}>
      <fieldset>
        <legend>Call</legend>
        {lengths.map(({ name, help }) => (
          <Whole
            key={name}
            held={call}
            name={name}
            title={titleOfInput(name)}
            about={help}
            none={name === "tokens" && usual ? whole(usual) : CALL[name] === null ? "none" : undefined}
            wrong={wrongAt(name).length > 0}
          />
        ))}
        {lengths.map(({ name }) => (
          <InputProblems key={name} problems={wrongAt(name)} id={`${name}-wrong`} />
        ))}
        {ITEMS.map(([name, about]) =>
          inputs[name] === undefined ? null : (
            <Items key={name} name={name} about={about} usual={inputs[name]} problems={wrongAt(name)} />
          ),
        )}
        {inputs.processed === undefined ? null : (
          <div class="wide">
            <Switch
              held={call}
              name="processed"
              title={titleOfInput("processed")}
              disabled={ITEMS.every(([name]) => inputs[name] === undefined || call.value[name].length === 0)}
            />
            <InputProblems problems={wrongAt("processed")} id="processed-wrong" />
          </div>
        )}
        <Choice held={call} name="dtype" options={DTYPES} otherwise="as configured" />
        <Choice held={call} name="weights" options={FORMATS} otherwise="as configured" />
        {inputs.last === undefined ? null : (
          <Switch held={call} name="last" title="logits of the last token only" />
        )}
        {inputs.past === undefined ? null : (
          <p class="note">
            Prefill is one forward pass over the tokens of the prompt. A decode step is a forward pass of one
            token, with the earlier ones as past tokens in the cache.
          </p>
        )}
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
      <TextInput
        type="number"
        min="0.1"
        step="any"
        value={String(ownGib.value)}
        commit={(text) => {
          if (Number(text) > 0) ownGib.value = Number(text);
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
  wrong,
}: Entry<Value> & { about?: string; none?: string | undefined; wrong?: boolean }) {
  const written = (value: unknown) => (value === null ? "" : whole(value as number));
  return (
    <label>
      {title ?? name}
      <TextInput
        title={about}
        aria-invalid={wrong}
        aria-describedby={wrong ? `${name}-wrong` : undefined}
        inputMode="numeric"
        autocomplete="off"
        placeholder={none ?? ""}
        value={written(held.value[name])}
        commit={(text) => {
          const digits = text.replace(/[\s,_]/g, "");
          const value = /^\d+$/.test(digits) ? Number(digits) : Number.NaN;
          if (none && digits === "") held.value = { ...held.value, [name]: null };
          else if (Number.isSafeInteger(value)) held.value = { ...held.value, [name]: value };
        }}
      />
    </label>
  );
}

type Modality = (typeof ITEMS)[number][0];

interface ItemsProps {
  name: Modality;
  about: string;
  usual: string; // the size of an item if none is given; may be empty
  problems: Problem[];
}

/** An input for the sizes of images, videos or audio. The engine reports invalid ones. */
function Items({ name, about, usual, problems }: ItemsProps) {
  const wrong = `${name}-wrong`;
  return (
    <div class="wide">
      <label>
        {titleOfInput(name)}
        <TextInput
          autocomplete="off"
          spellcheck={false}
          placeholder={usual || "none"}
          value={call.value[name].join(", ")}
          aria-invalid={problems.length > 0}
          aria-describedby={problems.length ? `${name}-about ${wrong}` : `${name}-about`}
          commit={(text) => {
            call.value = { ...call.value, [name]: itemsIn(text, name) };
          }}
        />
      </label>
      <p class="note" id={`${name}-about`}>
        {about}
      </p>
      <InputProblems problems={problems} id={wrong} />
    </div>
  );
}

/** Splits a text into sizes at commas and spaces; `480,000` samples and `1024 × 768` are one size. */
function itemsIn(text: string, name: Modality): string[] {
  const digits = name === "audios" ? text.replace(/(?<=\d),(?=\d{3}(?!\d))/g, "") : text;
  const sizes = digits.replace(/\s*([x×@])\s*/gi, (_, sign) => (sign === "@" ? "@" : "x"));
  return sizes.split(/[\s,;]+/).filter(Boolean);
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

function Switch<Value>({ held, name, title, disabled }: Entry<Value> & { disabled?: boolean }) {
  return (
    <label class="switch">
      <input
        type="checkbox"
        disabled={disabled}
        checked={held.value[name] as boolean}
        onChange={(event) => (held.value = { ...held.value, [name]: event.currentTarget.checked })}
      />
      {title ?? name}
    </label>
  );
}
