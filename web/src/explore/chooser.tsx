/** Chooses the model: by name, a shipped checkpoint, a pasted or dropped config.json, or one from the hub. */
import { useSignal } from "@preact/signals";
import { counted } from "../counted";
import { OptionsOf, Select } from "../parts/select";
import { type Source, source, textShown } from "../state";
import { Attempted } from "./attempted";
import { Combobox } from "./combobox";
import { refusedFile, showFile } from "./file";
import { fromHub, offered } from "./hub";
import { classesOf, HUB, type Model, sourceOf } from "./models";

const hub = fromHub((found) => {
  source.value = found;
});

export function Chooser() {
  return (
    <section class="chooser" aria-label="model">
      <Combobox
        label="Model"
        placeholder="search: llama, gpt2, Mixtral-8x7B …"
        chosen={called(source.value)}
        found={offered}
        choose={choose}
      />
      <ClassChoice />
      <Hub />
      <Pasted />
    </section>
  );
}

/** The name of the model shown. */
function called({ name, label, text }: Source): string {
  return label ?? name ?? (text ? "the config.json below" : "");
}

function choose(one: Model): void {
  if (one.family === HUB) void hub.show(one.typed ?? one.name);
  else source.value = sourceOf(one);
}

function ClassChoice() {
  const shown = source.value;
  const types = classesOf(shown);
  const { result, problems } = counted.value;
  const counts = problems.length ? undefined : result?.counts;
  const now = shown.architecture ?? (shown.name === undefined ? counts?.architecture : shown.name) ?? "";
  const known = types.flatMap((one) => one.architectures);
  const choose = (name: string) => {
    source.value = shown.name === undefined ? { ...shown, architecture: name } : { ...shown, name };
  };
  const unknown = counts?.architecture || now || (problems.length ? "choose a class" : "…");
  return (
    <Select label="Class" value={now} disabled={known.length === 0} choose={choose}>
      {known.includes(now) ? null : <option value={now}>{unknown}</option>}
      {types.map(({ model_type, architectures }) => (
        <optgroup key={model_type} label={model_type}>
          <OptionsOf values={architectures} />
        </optgroup>
      ))}
    </Select>
  );
}

function Hub() {
  const id = useSignal("");
  const asked = (event: Event) => {
    event.preventDefault();
    void hub.show(id.value);
  };
  return (
    <form onSubmit={asked}>
      <label for="hub-id">Hub id</label>
      <span class="row">
        <input
          id="hub-id"
          placeholder="organisation/name"
          autocapitalize="off"
          spellcheck={false}
          value={id.value}
          onInput={(event) => (id.value = event.currentTarget.value)}
        />
        <button type="submit">Fetch</button>
      </span>
      <Attempted attempt={hub.attempt.value} />
    </form>
  );
}

function Pasted() {
  return (
    <details
      class="pasted"
      open={textShown.value}
      onToggle={(event) => (textShown.value = event.currentTarget.open)}
    >
      <summary>config.json: paste or drop one, or open a file</summary>
      <p class="row">
        <label class="inline">
          file
          <input
            type="file"
            accept=".json,application/json"
            onChange={(event) => {
              const file = event.currentTarget.files?.[0];
              if (file) void showFile(file);
              event.currentTarget.value = ""; // allows choosing the same file again
            }}
          />
        </label>
        <span role="alert" class="refusal">
          {refusedFile.value}
        </span>
      </p>
      <textarea
        aria-label="config.json"
        spellcheck={false}
        rows={10}
        placeholder='{"model_type": "llama", "hidden_size": 2048, …}'
        value={source.value.text ?? ""}
        onInput={(event) => (source.value = { text: event.currentTarget.value })}
      />
    </details>
  );
}
