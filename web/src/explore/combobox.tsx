/** A combobox with grouped options, for keyboards and screen readers. */
import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { FAMILIES, type Found, type Model } from "./models";

const SHOWN = 80; // the most options listed

interface Props {
  id?: string;
  label: string;
  placeholder: string;
  chosen?: string; // the text of the field when it is not being edited
  found: (query: string) => Found;
  choose: (one: Model) => void;
}

export function Combobox({ id = "model", label, placeholder, chosen = "", found, choose }: Props) {
  const typed = useSignal<string | undefined>(undefined);
  const open = useSignal(false);
  const active = useSignal(0);
  const field = useRef<HTMLInputElement>(null);
  const untouched = typed.value === undefined;
  useLayoutEffect(() => {
    if (untouched && document.activeElement === field.current) field.current?.select(); // typing replaces it
  }, [untouched, chosen]);
  const query = typed.value ?? "";
  const { models, missed } = open.value ? found(query) : NONE;
  const groups = grouped(query ? models.slice(0, SHOWN) : models);
  const listed = groups.flatMap(([, some]) => some); // in display order
  const type = (text: string | undefined) => {
    [typed.value, open.value, active.value] = [text, true, 0];
    document.getElementById(`${id}s`)?.scrollTo(0, 0);
  };
  const close = () => {
    [typed.value, open.value] = [undefined, false];
  };
  const take = (one: Model) => {
    if (one.family === FAMILIES) type(one.name);
    else {
      close();
      choose(one);
    }
  };
  const move = (to: number) => {
    [open.value, active.value] = [true, listed.length ? (to + listed.length) % listed.length : 0];
    document.getElementById(optionId(id, active.value))?.scrollIntoView({ block: "nearest" });
  };
  const pressed = (event: KeyboardEvent) => {
    const one = listed[active.value];
    if (event.key === "ArrowDown") move(open.value ? active.value + 1 : 0);
    else if (event.key === "ArrowUp") move(active.value - 1);
    else if (event.key === "Enter" && open.value && one) take(one);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
  };
  return (
    <div class="combobox">
      <label for={id}>{label}</label>
      <input
        ref={field}
        id={id}
        role="combobox"
        autocomplete="off"
        spellcheck={false}
        aria-expanded={open.value}
        aria-controls={`${id}s`}
        aria-autocomplete="list"
        aria-activedescendant={open.value && listed.length ? optionId(id, active.value) : undefined}
        placeholder={placeholder}
        value={typed.value ?? chosen}
        onInput={(event) => type(event.currentTarget.value)}
        onFocus={(event) => event.currentTarget.select()}
        onClick={(event) => {
          if (untouched) event.currentTarget.select();
          open.value = true;
        }}
        onBlur={close}
        onKeyDown={pressed}
      />
      <div class="popup" hidden={!open.value}>
        <p role="status" class="note">
          {open.value ? statusOf(models.length, query, missed) : ""}
        </p>
        <div
          id={`${id}s`}
          role="listbox"
          aria-label="models"
          onMouseDown={(event) => event.preventDefault() /* the field keeps the focus until the click */}
        >
          {groups.map(([family, models]) => (
            // biome-ignore lint/a11y/useSemanticElements: a listbox has groups of options, not a fieldset
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
                  choose={take}
                />
              ))}
            </div>
          ))}
        </div>
      </div>
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

const NONE: Found = { models: [], missed: [] };

const optionId = (id: string, rank: number) => `${id}-${rank}`;

function grouped(models: Model[]): [string, Model[]][] {
  const groups = new Map<string, Model[]>();
  for (const one of models) groups.set(one.family, [...(groups.get(one.family) ?? []), one]);
  return [...groups];
}

function statusOf(count: number, query: string, missed: string[]): string {
  if (!query) return "type or choose a name";
  if (count === 0) return `no model is named ${query}; a hub id, organization/name, fetches its config.json`;
  if (missed.length) return `nothing matches ${missed.join(" ")}; these match the rest`;
  return count > SHOWN ? `${SHOWN} of ${count}; type more to narrow` : `${count} found`;
}
