/** Sliders and inputs for the fields that a count reads, next to the counts. */
import { counted } from "../counted";
import type { Problem } from "../engine";
import { atConfig, atSet, base, completed, entering, enters } from "../knobs/fields";
import { Knob } from "../knobs/knob";
import { Copies } from "../parts/copies";
import { CountsOf } from "../parts/counts";
import { Problems } from "../parts/problems";
import { source } from "../state";
import type { FieldValue } from "../types";

export function KnobsView() {
  const { result, problems } = atConfig.value;
  if (problems.length) return <Problems problems={problems} />;
  if (result?.config !== base.value) return <p role="status">reading the fields …</p>;
  const counts = counted.value;
  return (
    <section class="knobs" aria-label="knobs">
      <Fields fields={result.found} />
      <div class="follows" aria-busy={counts.pending} data-stale={counts.problems.length > 0}>
        {counts.result ? <CountsOf {...counts.result} stale={counts.problems.length > 0} /> : null}
        {counts.pending && !counts.result ? <p role="status">counting …</p> : null}
      </div>
    </section>
  );
}

function Fields({ fields }: { fields: FieldValue[] }) {
  const set = source.value.set ?? {};
  const problems = counted.value.problems;
  const said = atSet.value.result;
  const now = new Map(said?.config === base.value ? said.found.map((one) => [one.field, one.value]) : []);
  const found = entering.value.result;
  const known = found?.config === base.value ? found.found : undefined;
  const knobs = fields.filter((one) => one.field in set || enters(one, known));
  const shown = new Set(knobs.map((one) => one.field));
  const blamed = (field: string) => problems.filter((one) => at(one, Object.keys(set)) === field);
  return (
    <form class="fields" aria-label="fields" onSubmit={(event) => event.preventDefault()}>
      <Problems problems={problems.filter((one) => !shown.has(at(one, Object.keys(set)) ?? ""))} />
      <Status known={known !== undefined} problems={entering.value.problems} />
      {parts(knobs).map(([part, of]) => (
        <fieldset key={part}>
          <legend>{part || "config"}</legend>
          {of.map((one) => (
            <Knob
              key={one.field}
              field={one}
              value={set[one.field] ?? (one.field in set ? null : (now.get(one.field) ?? one.value))}
              isSet={one.field in set}
              heads={headsOf(part, fields)}
              problems={blamed(one.field)}
            />
          ))}
        </fieldset>
      ))}
      <Taken />
      {known ? <Idle fields={fields.filter((one) => !shown.has(one.field))} /> : null}
    </form>
  );
}

function Status({ known, problems }: { known: boolean; problems: Problem[] }) {
  const status = problems.length
    ? `cannot determine the fields that the count reads: ${problems[0]?.message}`
    : "finding the fields that the count reads …";
  return (
    <p role="status" class={known ? "unseen" : "note"}>
      {known ? "" : status}
    </p>
  );
}

/** The config.json to copy; nothing while it is out of date. */
function Taken() {
  const { result } = completed.value;
  if (result?.config !== JSON.stringify(source.value) || completed.value.problems.length) return null;
  return (
    <>
      <Copies copies={{ "config.json": result.found }} />
      <a download="config.json" href={`data:application/json,${encodeURIComponent(result.found)}`}>
        Download config.json
      </a>
    </>
  );
}

function Idle({ fields }: { fields: FieldValue[] }) {
  if (fields.length === 0) return null;
  return (
    <p class="idle">
      These do not enter the count here: <span>{fields.map((one) => one.field).join(", ")}</span>
    </p>
  );
}

const partOf = ({ field }: FieldValue) => field.split(".").slice(0, -1).join(".");

/** The fields, grouped by the part of the config. */
function parts(fields: FieldValue[]): [string, FieldValue[]][] {
  const found = new Map<string, FieldValue[]>();
  for (const one of fields) {
    const part = partOf(one);
    found.set(part, [...(found.get(part) ?? []), one]);
  }
  return [...found];
}

/** The head counts that must divide the widths of a part. */
function headsOf(part: string, fields: FieldValue[]): number[] {
  const own = fields.filter((one) => partOf(one) === part && /heads?$/.test(one.field));
  return own.flatMap(({ value }) => (typeof value === "number" ? [value] : []));
}

/** The field next to which a problem is shown: the one that it names, else the last one changed. */
function at(problem: Problem, set: string[]): string | undefined {
  return problem.field ?? set.at(-1);
}
