/** Explore: a model by its name, a shipped checkpoint, or a config.json pasted or dropped. */
import { computed, signal } from "@preact/signals";
import { ask } from "../engine";
import { source } from "../state";
import type { Catalogue } from "../types";

const names = signal<string[]>([]);
const checkpoints = signal<Record<string, string>>({});
const typed = signal("");

ask<Catalogue>("catalogue").then(({ model_types }) => {
  names.value = model_types.flatMap((one) => [one.model_type, ...one.architectures]);
});
fetch(new URL("engine/checkpoints.json", document.baseURI))
  .then((response) => response.json())
  .then((found: Record<string, string>) => {
    checkpoints.value = found;
  });

const offered = computed(() => [...Object.keys(checkpoints.value), ...names.value]);

function choose(name: string): void {
  const text = checkpoints.value[name];
  if (text !== undefined) source.value = { text };
  else if (names.value.includes(name)) source.value = { name };
}

async function dropped(event: DragEvent): Promise<void> {
  event.preventDefault();
  const file = event.dataTransfer?.files[0];
  if (file) source.value = { text: await file.text() };
}

export function Chooser() {
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the text field within takes the same by keyboard
    <section class="chooser" onDragOver={(event) => event.preventDefault()} onDrop={dropped}>
      <label>
        Model
        <input
          type="search"
          list="offered"
          placeholder="LlamaForCausalLM, bert, mistralai/Mixtral-8x7B-v0.1 …"
          value={typed.value}
          onInput={(event) => {
            typed.value = event.currentTarget.value;
            choose(typed.value);
          }}
        />
      </label>
      <datalist id="offered">
        {offered.value.map((one) => (
          <option key={one} value={one} />
        ))}
      </datalist>
      <details open={source.value.text !== undefined}>
        <summary>config.json</summary>
        <textarea
          aria-label="config.json"
          spellcheck={false}
          rows={10}
          placeholder="paste or drop a config.json"
          value={source.value.text ?? ""}
          onInput={(event) => (source.value = { text: event.currentTarget.value })}
        />
      </details>
    </section>
  );
}
