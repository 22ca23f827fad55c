/** The memory of a training step on the rank that needs most. */
import { bytes, type Whole, whole } from "../numbers";
import { Fact } from "../parts/fact";
import { ReportTable } from "../parts/report-table";
import { StackedBar } from "../parts/stacked-bar";
import type { Step } from "./answer";
import { room } from "./asked";

export function StepOf({ step }: { step: Step }) {
  const total = step.total_bytes;
  const ranks = [step.data_parallel, step.tensor_parallel, step.pipeline_parallel];
  const all = ranks.reduce((product, one) => product * one, 1);
  const shared = `${ranks[0]} data × ${ranks[1]} tensor × ${ranks[2]} pipeline`;
  return (
    <>
      <StackedBar room={room.value} least segments={step.parts} />
      <dl class="facts">
        <Fact title="ranks" value={all > 1 ? `${whole(all)}: ${shared}` : "1"} />
        <Fact
          title={step.unsupported ? "bytes per rank, without activations" : "bytes of the largest rank"}
          value={`≥ ${whole(total)} (${bytes(total)})`}
        />
        <Fact title="FLOPs per rank" value={step.flops === null ? "not available" : whole(step.flops)} />
      </dl>
      <p class="note">
        A lower bound; not included: {step.excluded.join("; ")}.
        {step.unsupported ? ` No activations: ${step.unsupported}.` : ""}
        {step.loss_bytes ? ` The loss keeps ${bytes(step.loss_bytes)} of the activations.` : ""}
      </p>
      {step.notes.map((note) => (
        <p class="note" key={note}>
          {note}
        </p>
      ))}
      <ReportTable
        name="parts of the memory"
        table={{
          columns: "part|dtype|sharded by ZeRO|>bytes|>",
          header: true,
          rows: step.parts.map((one) => [
            one.name,
            one.dtype,
            shardOf(one.sharded_across),
            ...exactAndShort(one.bytes),
          ]),
        }}
      />
    </>
  );
}

const shardOf = (ranks: number) => (ranks > 1 ? `1/${whole(ranks)}` : "");
const exactAndShort = (count: Whole) => [whole(count), bytes(count)];
