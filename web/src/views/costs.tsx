import { answering } from "../answer";
import type { Answered, Costs, Flops } from "../costs/answer";
import { call, room, training } from "../costs/asked";
import { CacheOf } from "../costs/cache";
import { FlopsOf } from "../costs/flops";
import { CostsForm, titleOfInput } from "../costs/form";
import { MemoryOf } from "../costs/memory";
import { StepOf } from "../costs/step";
import { askLatest, type Problem } from "../engine";
import { Fact } from "../parts/fact";
import { Problems } from "../parts/problems";
import { source, view } from "../state";
import "../costs/costs.css";

const answer = answering(() => {
  if (view.value !== "costs") return undefined;
  return askLatest<Answered>("costs", JSON.stringify(source.value), {
    call: call.value,
    training: training.value,
    accelerator_bytes: room.value.bytes,
  });
});

/** The parts, in display order. */
const TITLES: Record<keyof Costs, string> = {
  memory: "inference memory",
  cache: "KV cache",
  flops: "FLOPs of the forward pass",
  training: "memory of a training step",
};
const NAMES = Object.keys(TITLES) as (keyof Costs)[];

export function CostsView() {
  const { result, pending, problems } = answer.value;
  return (
    <section aria-busy={pending} class="costs">
      <CostsForm
        inputs={result?.inputs}
        usual={result && "result" in result.flops ? result.flops.result.tokens : undefined}
        problems={result && problems.length === 0 ? atInputs(result) : []}
      />
      <Problems problems={problems} />
      {result && problems.length === 0 ? <Parts costs={result} /> : null}
      {pending && !result ? <p role="status">counting …</p> : null}
    </section>
  );
}

function Parts({ costs }: { costs: Costs }) {
  const shown = new Set<keyof Costs>();
  const there = atInputs(costs);
  const parts = NAMES.map((name) => {
    if (shown.has(name)) return null;
    const problems = refusedIn(costs, name);
    const same = problems ? NAMES.filter((one) => isSame(problems, refusedIn(costs, one))) : [name];
    for (const one of same) shown.add(one);
    return (
      <section key={name}>
        <h2>{titleOf(same)}</h2>
        {problems ? <Refused problems={problems} there={there} /> : <Part costs={costs} name={name} />}
      </section>
    );
  });
  return (
    <>
      {"result" in costs.flops ? <Received flops={costs.flops.result} /> : null}
      {parts}
    </>
  );
}

/** What the model receives instead of images, videos and audio, and what became of each file. */
function Received({ flops: { received } }: { flops: Flops }) {
  if (received.length === 0) return null;
  return (
    <section>
      <h2>Model inputs</h2>
      <dl class="facts" id="model-inputs">
        {received.map(([title, text]) => (
          <Fact key={title + text} title={title} value={text} />
        ))}
      </dl>
    </section>
  );
}

/** The errors of a part, except those shown at inputs. */
function Refused({ problems, there }: { problems: Problem[]; there: Problem[] }) {
  const here = problems.filter((one) => !there.some((other) => isSame([one], [other])));
  if (here.length) return <Problems problems={here} />;
  const names = there.map(({ input }) => `“${titleOfInput(input ?? "")}”`);
  return <p class="note">The error is at the input {[...new Set(names)].join(", ")}.</p>;
}

function Part({
  costs: { memory, cache, flops, training: step },
  name,
}: {
  costs: Costs;
  name: keyof Costs;
}) {
  if (name === "memory" && "result" in memory) return <MemoryOf memory={memory.result} />;
  if (name === "cache" && "result" in cache) return <CacheOf cache={cache.result} />;
  if (name === "flops" && "result" in flops) return <FlopsOf flops={flops.result} />;
  if (name === "training" && "result" in step) return <StepOf step={step.result} />;
  return null;
}

function refusedIn(costs: Costs, name: keyof Costs): Problem[] | undefined {
  const part = costs[name];
  return "problems" in part ? part.problems : undefined;
}

/** The errors of the forward pass that the form shows at an input. */
const atInputs = (costs: Costs) => (refusedIn(costs, "flops") ?? []).filter(({ input }) => input);

const texts = (problems: Problem[]) => JSON.stringify(problems.map(({ message, help }) => [message, help]));
const isSame = (one: Problem[], other: Problem[] | undefined) => other && texts(one) === texts(other);

function titleOf(names: (keyof Costs)[]): string {
  const title = names.map((one) => TITLES[one]).join(", ");
  return title.charAt(0).toUpperCase() + title.slice(1);
}
