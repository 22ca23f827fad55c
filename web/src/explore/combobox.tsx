/** A field that offers what fits what is typed, grouped; arrows, Enter and Escape work, and screen readers follow. */
import { useSignal } from "@preact/signals";
import type { Model } from "./models";

const SHOWN = 80; // options: more are found by more letters

interface Props {
  id?: string;
  label: string;
  placeholder: string;
  found: (query: string) => Model[];
  choose: (one: Model) => void;
}

export function Combobox({ id = "model", label, placeholder, found, choose }: Props) {
  const query = useSignal("");
  const open = useSignal(false);
  const active = useSignal(0);
  const all = open.value ? found(query.value) : [];
  const groups = grouped(all.slice(0, SHOWN));
  const listed = groups.flatMap(([, models]) => models); // in the order in which they are seen
  const chosen = (one: Model) => {
    [query.value, open.value] = ["", false];
    choose(one);
  };
  const move = (to: number) => {
    [open.value, active.value] = [true, listed.length ? (to + listed.length) % listed.length : 0];
    document.getElementById(optionId(id, active.value))?.scrollIntoView({ block: "nearest" });
  };
  const pressed = (event: KeyboardEvent) => {
    const one = listed[active.value];
    if (event.key === "ArrowDown") move(open.value ? active.value + 1 : 0);
    else if (event.key === "ArrowUp") move(active.value - 1);
    else if (event.key === "Enter" && open.value && one) chosen(one);
    else if (event.key === "Escape") open.value = false;
    else return;
    event.preventDefault();
  };
  return (
    <div class="combobox">
      <label for={id}>{label}</label>
      <input
        id={id}
        role="combobox"
        autocomplete="off"
        spellcheck={false}
        aria-expanded={open.value}
        aria-controls={`${id}s`}
        aria-autocomplete="list"
        aria-activedescendant={open.value && listed.length ? optionId(id, active.value) : undefined}
        placeholder={placeholder}
        value={query.value}
        onInput={(event) => {
          [query.value, open.value, active.value] = [event.currentTarget.value, true, 0];
        }}
        onClick={() => (open.value = true)}
        onBlur={() => (open.value = false)}
        onKeyDown={pressed}
      />
      <div
        id={`${id}s`}
        role="listbox"
        aria-label="models"
        hidden={!open.value}
        onMouseDown={(event) => event.preventDefault() /* the field keeps the focus until the click */}
      >
        {groups.map(([family, models]) => (
          // biome-ignore lint/a11y/useSemanticElements: a listbox takes groups of options, no fieldset
          <div key={family} role="group" aria-label={family}>
            <div class="family" aria-hidden="true">
              {family}
            </div>
            {models.map((one) => (
              <Option
                key={one.name}
                id={optionId(id, listed.indexOf(one))}
                model={one}
                active={listed[active.value] === one}
                choose={chosen}
              />
            ))}
          </div>
        ))}
      </div>
      <p role="status" class={open.value ? "note" : "unseen"}>
        {open.value ? told(all.length, query.value) : ""}
      </p>
    </div>
  );
}

interface OptionProps {
  id: string;
  model: Model;
  active: boolean;
  choose: (one: Model) => void;
}

function Option({ id, model, active, choose }: OptionProps) {
  return (
    // biome-ignore lint/a11y/useFocusableInteractive: the field keeps the focus, aria-activedescendant points here
    // biome-ignore lint/a11y/useKeyWithClickEvents: the field takes the keys
    <div id={id} role="option" aria-selected={active} onClick={() => choose(model)}>
      {model.name} <small>{model.hint}</small>
    </div>
  );
}

const optionId = (id: string, rank: number) => `${id}-${rank}`;

function grouped(models: Model[]): [string, Model[]][] {
  const groups = new Map<string, Model[]>();
  for (const one of models) groups.set(one.family, [...(groups.get(one.family) ?? []), one]);
  return [...groups];
}

function told(count: number, query: string): string {
  if (count === 0) return `nothing that is described is called ${query}`;
  return count > SHOWN ? `${SHOWN} of ${count}: type on` : `${count} models`;
}
