/** Explore: a model by its name, a shipped checkpoint, a config.json pasted or dropped, or one of the hub. */
import { useSignal } from "@preact/signals";
import { counted } from "../counted";
import { OptionsOf, Select } from "../parts/select";
import { source, textShown } from "../state";
import { Combobox } from "./combobox";
import { fetchedConfig, idIn } from "./hub";
import { classesOf, found, models, sourceOf } from "./models";

async function dropped(event: DragEvent): Promise<void> {
  event.preventDefault();
  const file = event.dataTransfer?.files[0];
  if (file) [source.value, textShown.value] = [{ text: await file.text(), label: file.name }, true];
}

export function Chooser() {
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the text field within takes the same by keyboard
    <section class="chooser" onDragOver={(event) => event.preventDefault()} onDrop={dropped}>
      <Combobox
        label="Model"
        placeholder="search: llama, gpt2, Mixtral-8x7B …"
        found={(query) => found(query, models.value)}
        choose={(one) => (source.value = sourceOf(one))}
      />
      <ClassChoice />
      <Hub />
      <Pasted />
    </section>
  );
}

function ClassChoice() {
  const shown = source.value;
  const types = classesOf(shown);
  const counts = counted.value.result?.counts;
  const now = shown.architecture ?? (shown.name === undefined ? counts?.architecture : shown.name) ?? "";
  const known = types.flatMap((one) => one.architectures);
  const choose = (name: string) => {
    source.value = shown.name === undefined ? { ...shown, architecture: name } : { ...shown, name };
  };
  return (
    <Select label="Class" value={now} disabled={known.length === 0} choose={choose}>
      {known.includes(now) ? null : <option value={now}>{counts?.architecture || now || "…"}</option>}
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
  const told = useSignal("");
  const wrong = useSignal(false);
  const fetched = async (event: Event) => {
    event.preventDefault();
    const asked = idIn(id.value);
    [told.value, wrong.value] = [`fetching ${asked} …`, false];
    try {
      source.value = { text: await fetchedConfig(asked), label: asked };
      told.value = "";
    } catch (error) {
      [told.value, wrong.value] = [(error as Error).message, true];
    }
  };
  return (
    <form onSubmit={fetched}>
      <label>
        Hub id
        <span class="row">
          <input
            placeholder="organisation/name"
            autocapitalize="off"
            spellcheck={false}
            value={id.value}
            onInput={(event) => (id.value = event.currentTarget.value)}
          />
          <button type="submit">Fetch</button>
        </span>
      </label>
      <p role={wrong.value ? "alert" : "status"} class={wrong.value ? "refusal" : "note"}>
        {told.value}
      </p>
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
      <summary>config.json: paste or drop one</summary>
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
