import { answering } from "../answer";
import type { Cache, Costs, Flops, Memory, Part, Step } from "../costs/answer";
import { accelerator, call, training } from "../costs/asked";
import { CostsForm } from "../costs/form";
import { askLatest, type Problem } from "../engine";
import { bytes, short, whole } from "../numbers";
import { Problems } from "../parts/problems";
import { ReportTable } from "../parts/report-table";
import { StackedBar } from "../parts/stacked-bar";
import { source, view } from "../state";
import "../costs/costs.css";

const answer = answering(() => {
  if (view.value !== "costs") return undefined;
  return askLatest<Costs>("costs", JSON.stringify(source.value), {
    call: call.value,
    training: training.value,
    accelerator_bytes: accelerator().bytes,
  });
});
const TITLES: Record<keyof Costs, string> = {
  flops: "FLOPs of the call",
  memory: "Memory of the call",
  cache: "Cache",
  training: "Memory of a training step",
};

export function CostsView() {
  const { result, pending, problems } = answer.value;
  return (
    <section aria-busy={pending} class="costs">
      <CostsForm />
      <Problems problems={problems} text={source.value.text} />
      {result && problems.length === 0 ? <Told costs={result} /> : null}
      {pending && !result ? <p role="status">counting …</p> : null}
    </section>
  );
}

function Told({ costs }: { costs: Costs }) {
  return (
    <>
      {refusals(costs).map(([titles, problems]) => (
        <section key={titles[0]}>
          <h2>{titles.join(", ")}</h2>
          <Problems problems={problems} />
        </section>
      ))}
      <Shown title={TITLES.flops} part={costs.flops} show={(one) => <FlopsOf flops={one} />} />
      <Shown title={TITLES.memory} part={costs.memory} show={(one) => <MemoryOf memory={one} />} />
      <Shown title={TITLES.cache} part={costs.cache} show={(one) => <CacheOf cache={one} />} />
      <Shown title={TITLES.training} part={costs.training} show={(one) => <StepOf step={one} />} />
    </>
  );
}

/** What is refused, with the titles of all parts that are refused for the same reasons. */
function refusals(costs: Costs): [string[], Problem[]][] {
  const found = new Map<string, [string[], Problem[]]>();
  for (const [name, title] of Object.entries(TITLES)) {
    const part = costs[name as keyof Costs];
    if (!("problems" in part)) continue;
    const key = JSON.stringify(part.problems);
    const alike = found.get(key);
    if (alike) alike[0].push(title);
    else found.set(key, [[title], part.problems]);
  }
  return [...found.values()];
}

interface PartOf<Result> {
  title: string;
  part: Part<Result>;
  show: (result: Result) => preact.JSX.Element;
}

function Shown<Result>({ title, part, show }: PartOf<Result>) {
  if ("problems" in part) return null;
  return (
    <section>
      <h2>{title}</h2>
      {show(part.result)}
    </section>
  );
}

function FlopsOf({ flops }: { flops: Flops }) {
  const masked = flops.masked_flops;
  return (
    <>
      <p class="total">
        <output id="flops">{whole(flops.flops)}</output> FLOPs ({short(flops.flops)})
      </p>
      <dl class="facts">
        <Fact title="that the mask lets through" value={masked === null ? "not given" : whole(masked)} />
        <Fact title="a token" value={whole(Math.round(flops.flops_per_token))} />
      </dl>
      <details>
        <summary>by module</summary>
        {flops.tables.slice(1).map((one) => (
          <ReportTable key={one.columns} table={one} name="FLOPs by module" />
        ))}
      </details>
    </>
  );
}

function Fact({ title, value }: { title: string; value: string }) {
  return (
    <div>
      <dt>{title}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function MemoryOf({ memory }: { memory: Memory }) {
  return (
    <>
      {alikeIn(memory).map(([allocation, ...others]) => {
        const room = memory.working_set[allocation];
        if (!room) return null;
        return (
          <div key={allocation} id={`memory-${allocation}`}>
            {allocation === "none" ? null : <h3>cache: {[allocation, ...others].join(", ")}</h3>}
            <StackedBar
              room={accelerator()}
              least={!room.exact}
              segments={[
                ...memory.weights.map((one) => ({ name: `weights in ${one.format}`, bytes: one.bytes })),
                { name: `cache in ${memory.dtype}`, bytes: memory.cache_bytes[allocation] ?? 0 },
                { name: "working set", bytes: room.bytes },
              ]}
            />
            <p class="note">
              {room.exact
                ? "most is needed in"
                : "not held to torch: the working set is at least the output of"}{" "}
              {room.needed_by}
            </p>
          </div>
        );
      })}
    </>
  );
}

/** The allocations of the cache, those that come to the same together. */
function alikeIn(memory: Memory): [string, ...string[]][] {
  const found = new Map<string, [string, ...string[]]>();
  for (const [name, room] of Object.entries(memory.working_set)) {
    const figures = JSON.stringify([memory.cache_bytes[name], room]);
    const alike = found.get(figures);
    if (alike) alike.push(name);
    else found.set(figures, [name]);
  }
  return [...found.values()];
}

function CacheOf({ cache }: { cache: Cache }) {
  return (
    <>
      <dl class="facts">
        <Fact title="elements" value={whole(cache.cache_elements)} />
        {Object.entries(cache.cache_bytes).map(([name, count]) => (
          <Fact key={name} title={`bytes, ${name}`} value={`${whole(count)} (${bytes(count)})`} />
        ))}
      </dl>
      <p>{heldBeside(cache)}</p>
      {cache.tables.slice(1).map((one) => (
        <ReportTable key={one.columns} table={one} name="tensors of the cache" />
      ))}
    </>
  );
}

const ANY = 2 ** 39; // tokens: so many are as many as one likes, for a cache that does not grow with them

function heldBeside(cache: Cache): string {
  const one = accelerator();
  const weights = `the weights (${bytes(cache.weights_bytes)})`;
  if (cache.weights_bytes > one.bytes) return `${one.name} does not hold ${weights}.`;
  const held = Object.entries(cache.holds).map(([name, { tokens, batch }]) => {
    const many = tokens >= ANY ? "any number of" : whole(tokens);
    return `${name}: ${many} tokens at this batch, or a batch of ${whole(batch)} at these tokens`;
  });
  return `Without a working set, ${one.name} holds ${weights} and a cache: ${held.join("; ")}.`;
}

function StepOf({ step }: { step: Step }) {
  const total = step.parts.reduce((sum, one) => sum + one.bytes, 0);
  return (
    <>
      <dl class="facts">
        <Fact title="FLOPs of a rank" value={step.flops === null ? "not given" : whole(step.flops)} />
        <Fact
          title={step.not_described ? "bytes of a rank without activations" : "bytes of a rank"}
          value={`${whole(total)} (${bytes(total)})`}
        />
      </dl>
      <StackedBar room={accelerator()} least={step.not_described !== null} segments={step.parts} />
      {step.not_described ? <p class="note">{step.not_described}</p> : null}
      <ReportTable
        name="parts of the memory"
        table={{
          columns: "part|dtype|of it|>bytes|>",
          header: true,
          rows: step.parts.map((one) => [
            one.name,
            one.dtype,
            one.shared_by > 1 ? `1/${one.shared_by}` : "",
            whole(one.bytes),
            bytes(one.bytes),
          ]),
        }}
      />
    </>
  );
}
