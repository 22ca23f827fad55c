/** The second model: the first with fields changed, another one by name, or a config.json. */
import { signal } from "@preact/signals";
import { Attempted } from "../explore/attempted";
import { Combobox } from "../explore/combobox";
import { fromHub, offered } from "../explore/hub";
import { HUB, type Model, sourceOf } from "../explore/models";
import { type Source, source } from "../state";
import { other } from "./asked";

const field = signal("");
const typed = signal("");
const hub = fromHub((found) => {
  other.value = found;
});

function choose(one: Model): void {
  if (one.family === HUB) void hub.show(one.typed ?? one.name);
  else other.value = sourceOf(one);
}

/** Parses a typed value as JSON, or else as text. */
function valueTyped(typed: string): unknown {
  try {
    return JSON.parse(typed);
  } catch {
    return typed;
  }
}

/** Sets the field once both its name and its value are typed. */
function set(): void {
  if (!field.value || !typed.value) return;
  const shown = other.value ?? source.value;
  other.value = { ...shown, set: { ...shown.set, [field.value]: valueTyped(typed.value) } };
  typed.value = "";
}

function unset(name: string): void {
  const { [name]: _, ...rest } = other.value?.set ?? {};
  other.value = { ...other.value, set: rest };
}

export function Second({ fields }: { fields: string[] }) {
  return (
    <form class="asked" onSubmit={(event) => event.preventDefault()}>
      <fieldset>
        <legend>B, compared with the model above (A)</legend>
        <div class="wide">
          <Combobox
            id="second"
            label="Model B"
            placeholder="search: mistral, gpt2, Mixtral-8x7B …"
            chosen={called(other.value)}
            found={offered}
            choose={choose}
          />
          <Attempted attempt={hub.attempt.value} />
        </div>
        <button type="button" onClick={() => (other.value = source.value)}>
          the same as A
        </button>
        <label>
          field of B
          <input
            list="fields-second"
            value={field.value}
            autocapitalize="off"
            spellcheck={false}
            onInput={(event) => (field.value = event.currentTarget.value.trim())}
            onChange={set}
          />
        </label>
        <datalist id="fields-second">
          {fields.map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
        <label>
          its value
          <input
            value={typed.value}
            autocapitalize="off"
            spellcheck={false}
            onInput={(event) => (typed.value = event.currentTarget.value)}
            onChange={set}
          />
        </label>
        <SetFields shown={other.value} />
        <details class="wide" open={other.value?.text !== undefined}>
          <summary>config.json of B</summary>
          <textarea
            aria-label="config.json of B"
            spellcheck={false}
            rows={8}
            placeholder="paste a config.json"
            value={other.value?.text ?? ""}
            onInput={(event) => (other.value = { text: event.currentTarget.value })}
          />
        </details>
      </fieldset>
    </form>
  );
}

function called(shown: Source | null): string {
  if (!shown) return "";
  return shown.label ?? shown.name ?? "the config.json below";
}

function SetFields({ shown }: { shown: Source | null }) {
  const found = Object.entries(shown?.set ?? {});
  if (found.length === 0) return null;
  return (
    <ul class="wide chips">
      {found.map(([name, value]) => (
        <li key={name}>
          {name} = {JSON.stringify(value)}{" "}
          <button type="button" aria-label={`reset ${name}`} onClick={() => unset(name)}>
            ×
          </button>
        </li>
      ))}
    </ul>
  );
}
