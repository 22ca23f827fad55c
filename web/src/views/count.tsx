import { answering } from "../answer";
import { ask } from "../engine";
import { bytes, short, whole } from "../numbers";
import { Icicle } from "../parts/icicle";
import { ModuleTree } from "../parts/module-tree";
import { Problems } from "../parts/problems";
import { source } from "../state";
import type { Counted, Counts } from "../types";

const answer = answering(() => ask<Counted>("count", JSON.stringify(source.value)));

const FACTS: [keyof Counts, string][] = [
  ["trainable_params", "trainable"],
  ["active_params", "active"],
  ["active_params_without_lookup", "active without lookup"],
  ["embedding_params", "embedding"],
  ["non_embedding_params", "non-embedding"],
  ["buffers", "persistent buffers"],
];

export function CountView() {
  const { result, pending, problems } = answer.value;
  if (problems.length) return <Problems problems={problems} text={source.value.text} />;
  if (!result) return <p role="status">starting the engine …</p>;
  const { counts, tree } = result;
  return (
    <section aria-busy={pending}>
      <h2>{counts.architecture}</h2>
      <p class="total">
        <output id="params">{whole(counts.params)}</output> parameters ({short(counts.params)})
      </p>
      <dl class="facts">
        {FACTS.map(([name, title]) => (
          <div key={name}>
            <dt>{title}</dt>
            <dd>{whole(counts[name] as number)}</dd>
          </div>
        ))}
        {counts.bytes === null ? null : (
          <div>
            <dt>bytes in {counts.dtype}</dt>
            <dd>{bytes(counts.bytes)}</dd>
          </div>
        )}
      </dl>
      <Icicle tree={tree} />
      <ModuleTree module={tree} all={tree.params} />
      {counts.notes.map((one) => (
        <p key={one} class="note">
          {one}
        </p>
      ))}
    </section>
  );
}
