/** Size to shape: configs of a size in the proportions of the model, as `archspec solve` finds them. */
import { answering } from "../answer";
import type { ReportTable as Table } from "../costs/answer";
import { call } from "../costs/asked";
import { askLatest } from "../engine";
import { Problems } from "../parts/problems";
import { ReportTable } from "../parts/report-table";
import { keep, source, view } from "../state";
import { other } from "./asked";

interface Solutions {
  table: Table;
  said: string[];
  configs: Record<string, unknown>[];
}

const BUDGETS = {
  params: "parameters near",
  active_params: "active parameters near",
  non_embedding_params: "non-embedding parameters near",
  bytes: "bytes of the parameters at most",
  memory: "bytes of parameters and a cache of 2,048 tokens at most",
} as const;

const budget = keep("budget", { quantity: "params", size: "" });

const solved = answering(() => {
  const { quantity, size } = budget.value;
  if (view.value !== "compare" || !size) return undefined;
  return askLatest<Solutions>("solve", JSON.stringify(source.value), quantity, size, call.value.dtype);
});

export function Shape() {
  const { quantity, size } = budget.value;
  const { result, pending, problems } = solved.value;
  return (
    <section aria-busy={pending && size !== ""}>
      <h2>A at another size</h2>
      <form class="asked" onSubmit={(event) => event.preventDefault()}>
        <fieldset>
          <legend>In A's own proportions</legend>
          <label class="two">
            budget
            <select
              value={quantity}
              onChange={(event) => (budget.value = { size, quantity: event.currentTarget.value })}
            >
              {Object.entries(BUDGETS).map(([name, title]) => (
                <option key={name} value={name}>
                  {title}
                </option>
              ))}
            </select>
          </label>
          <label>
            size
            <input
              placeholder="1.3B, 16GiB"
              autocapitalize="off"
              spellcheck={false}
              value={size}
              onChange={(event) => (budget.value = { quantity, size: event.currentTarget.value.trim() })}
            />
          </label>
        </fieldset>
      </form>
      {size && pending ? <p role="status">searching: that may take some seconds …</p> : null}
      {size && !pending ? <Problems problems={problems} text={source.value.text} /> : null}
      {size && result && !pending && !problems.length ? <Found found={result} /> : null}
    </section>
  );
}

function Found({ found }: { found: Solutions }) {
  return (
    <>
      <ReportTable name="configs of that size" table={found.table} />
      {found.said.map((one) => (
        <p key={one} class="note">
          {one}
        </p>
      ))}
      <p class="row">
        {found.configs.map((one, rank) => (
          <button
            key={JSON.stringify(one)}
            type="button"
            onClick={() => (other.value = { text: JSON.stringify(one, null, 2), label: `rank ${rank + 1}` })}
          >
            {rank + 1} as B
          </button>
        ))}
      </p>
    </>
  );
}
