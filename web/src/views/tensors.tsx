import { signal } from "@preact/signals";
import { answering } from "../answer";
import { askLatest } from "../engine";
import { whole } from "../numbers";
import { Problems } from "../parts/problems";
import { keep, source, view } from "../state";
import type { Tensor } from "../types";

const answer = answering(() =>
  view.value === "tensors" ? askLatest<Tensor[]>("tensors", JSON.stringify(source.value)) : undefined,
);
const filter = keep("filter", "");
const STEP = 400; // rows added per click
const shown = signal(STEP);

/** A filter matches if each of its words is in the name, the shape or the note of a tensor. */
function fits(tensor: Tensor, words: string[]): boolean {
  const text = `${tensor.name} ${shape(tensor)} ${noteOn(tensor)}`.toLowerCase();
  return words.every((one) => text.includes(one));
}

export function TensorsView() {
  const { result, problems } = answer.value;
  if (problems.length) return <Problems problems={problems} />;
  if (!result) return <p role="status">counting …</p>;
  const words = filter.value.toLowerCase().split(/\s+/);
  const found = result.filter((one) => fits(one, words));
  const sum = (kind: Tensor["kind"]) =>
    found
      .filter((one) => one.kind === kind && !one.tied_to)
      .reduce((all, { numel }) => all + BigInt(numel), 0n);
  const [params, buffers] = [sum("parameter"), sum("buffer")];
  return (
    <section aria-label="tensors">
      <label>
        Filter
        <input
          type="search"
          placeholder="mlp bias, 768, buffer …"
          value={filter.value}
          onInput={(event) => {
            [filter.value, shown.value] = [event.currentTarget.value, STEP];
          }}
        />
      </label>
      <p role="status">
        {whole(found.length)} of {whole(result.length)} tensors, {whole(params)} parameters
        {buffers ? `, ${whole(buffers)} elements of buffers` : ""}
      </p>
      <table class="tensors">
        <thead>
          <tr>
            <th scope="col">name</th>
            <th scope="col">shape</th>
            <th scope="col" class="number">
              elements
            </th>
          </tr>
        </thead>
        <tbody>
          {found.slice(0, shown.value).map((one) => (
            <tr key={one.name}>
              <td class="path">
                {one.name} <i class="note">{noteOn(one)}</i>
              </td>
              <td>{shape(one)}</td>
              <td class="number">{whole(one.numel)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {found.length > shown.value ? (
        <p>
          <button type="button" onClick={() => (shown.value += STEP)}>
            {STEP} more
          </button>{" "}
          <span class="note">the first {whole(shown.value)}; a longer filter shows the others</span>
        </p>
      ) : null}
    </section>
  );
}

const shape = (tensor: Tensor) => tensor.shape.join(" × ");

function noteOn(tensor: Tensor): string {
  if (tensor.tied_to) return `tied to ${tensor.tied_to}`;
  if (tensor.kind === "buffer") return "buffer";
  return tensor.trainable ? "" : "frozen";
}
