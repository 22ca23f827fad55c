/** A field that offers what fits what is typed, grouped; arrows, Enter and Escape work, and screen readers follow. */
import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { FAMILIES, type Found, type Model } from "./models";

const SHOWN = 80; // options that fit a query: more are found by more letters

interface Props {
  id?: string;
  label: string;
  placeholder: string;
  chosen?: string; // what stands in the field while nobody types
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
  const listed = groups.flatMap(([, some]) => some); // in the order in which they are seen
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
          {open.value ? told(models.length, query, missed) : ""}
        </p>
        <div
          id={`${id}s`}
          role="listbox"
          aria-label="models"
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

function told(count: number, query: string, missed: string[]): string {
  if (!query) return "type a name, or choose";
  if (count === 0)
    return `nothing here is called ${query}: a hub id, organisation/name, fetches its config.json`;
  if (missed.length) return `nothing here has ${missed.join(" ")}; these have the rest of it`;
  return count > SHOWN ? `${SHOWN} of ${count}: type on` : `${count} found`;
}
