/** Finds configs of a given size in the model's proportions, with `archspec solve`. */

import { useSignal } from "@preact/signals";
import { answering } from "../answer";
import type { ReportTable as Table } from "../costs/answer";
import { call } from "../costs/asked";
import { askLatest } from "../engine";
import { BUDGETS as budgets } from "../generated";
import { Problems } from "../parts/problems";
import { ReportTable } from "../parts/report-table";
import { OptionsOf, Select } from "../parts/select";
import { TextInput } from "../parts/text-input";
import { like } from "../shapes";
import { keep, type Source, source, view } from "../state";
import { other } from "./asked";

/** `tables`: the configs, preceded by the scaling law's prediction if there is a compute budget. */
interface Solutions {
  tables: Table[];
  said: string[];
  configs: Record<string, unknown>[];
}

const BUDGETS = budgets.map(({ name, help }) => [name, help] as const);
const ABOUT: Record<string, string> = {
  memory:
    "Weights and the cache of one sequence of 2,048 tokens, or of the model's maximum if smaller; only weights if the model has no cache.",
  compute: "The size that the Chinchilla scaling law predicts for this compute.",
};

/** `tokens`: training tokens, for a budget of training FLOPs. */
interface Budget {
  quantity: string;
  size: string;
  tokens: string;
}

const NONE: Budget = { quantity: "params", size: "", tokens: "" };
const budget = keep("budget", NONE, like(NONE, { quantity: BUDGETS.map(([name]) => name) }));

const complete = ({ quantity, size, tokens }: Budget) =>
  size !== "" && (quantity !== "flops" || Boolean(tokens));

const solved = answering(() => {
  const { quantity, size, tokens } = budget.value;
  if (view.value !== "compare" || !complete(budget.value)) return undefined;
  const asked = { [quantity]: size, ...(quantity === "flops" ? { tokens } : {}) };
  return askLatest<Solutions>("solve", JSON.stringify(source.value), asked, call.value.dtype);
});

export function Shape() {
  const { quantity } = budget.value;
  return (
    <section>
      <h2>A at another size</h2>
      <form class="asked" onSubmit={(event) => event.preventDefault()}>
        <fieldset>
          <legend>In the proportions of A</legend>
          <Select
            class="two"
            label="budget"
            value={quantity}
            choose={(chosen) => (budget.value = { ...budget.value, quantity: chosen })}
          >
            <OptionsOf values={BUDGETS} />
          </Select>
          <Typed label="size" field="size" example={EXAMPLES[quantity] ?? "1.3B"} />
          {quantity === "flops" ? <Typed label="tokens" field="tokens" example="300B" /> : null}
          {ABOUT[quantity] ? <p class="note">{ABOUT[quantity]}</p> : null}
        </fieldset>
      </form>
      {complete(budget.value) ? <Answer /> : null}
    </section>
  );
}

const EXAMPLES: Record<string, string> = { bytes: "16GiB", memory: "16GiB", flops: "1e22", compute: "1e22" };

interface TypedProps {
  label: string;
  field: "size" | "tokens";
  example: string;
}

function Typed({ label, field, example }: TypedProps) {
  return (
    <label>
      {label}
      <TextInput
        placeholder={example}
        autocapitalize="off"
        spellcheck={false}
        value={budget.value[field] ?? ""}
        commit={(text) => {
          budget.value = { ...budget.value, [field]: text.trim() };
        }}
      />
    </label>
  );
}

function Answer() {
  const { result, pending, problems } = solved.value;
  if (pending) return <p role="status">searching; this may take a few seconds …</p>;
  if (problems.length) return <Problems problems={problems} />;
  return result ? <Found found={result} /> : null;
}

function Found({ found }: { found: Solutions }) {
  const laws = found.tables.slice(0, -1);
  return (
    <>
      {laws.map((one) => (
        <ReportTable key={one.columns} name="prediction of the scaling law" table={one} />
      ))}
      {found.tables.slice(-1).map((one) => (
        <ReportTable key={one.columns} name="configs of that size" table={one} />
      ))}
      {found.said.map((one) => (
        <p key={one} class="note">
          {one}
        </p>
      ))}
      <Taken configs={found.configs} />
    </>
  );
}

/** Opens a config as a model of the page. */
function Taken({ configs }: { configs: Solutions["configs"] }) {
  const chosen = useSignal(0);
  const rank = Math.min(chosen.value, configs.length - 1);
  const taken = (): Source => ({ text: JSON.stringify(configs[rank], null, 2), label: `rank ${rank + 1}` });
  const ranks = configs.map((_, at) => [String(at), String(at + 1)] as const);
  return (
    <form class="row take" onSubmit={(event) => event.preventDefault()}>
      <Select label="rank" value={String(rank)} choose={(at) => (chosen.value = Number(at))}>
        <OptionsOf values={ranks} />
      </Select>
      <button type="button" onClick={() => (other.value = taken())}>
        compare it, as B
      </button>
      <button type="button" onClick={() => (source.value = taken())}>
        look at it, as A
      </button>
    </form>
  );
}
