/** Parts of a whole in bytes, side by side, on the memory of an accelerator. */
import { bytes } from "../numbers";

export interface Segment {
  name: string;
  bytes: number;
}

/** An accelerator; its memory as the vendor states it, and in bytes. */
export interface Room {
  name: string;
  memory: string;
  bytes: number;
}

/** `least`: the parts are at least as large, and may be larger. */
export function StackedBar({ segments, room, least }: { segments: Segment[]; room: Room; least: boolean }) {
  const total = segments.reduce((sum, one) => sum + one.bytes, 0);
  const whole = Math.max(total, room.bytes);
  const shown = segments.filter((one) => one.bytes > 0);
  const at = (part: number) => `${(100 * part) / whole}%`;
  return (
    <figure class="stack">
      <div class="bar" aria-hidden="true">
        {shown.map((one, rank) => (
          <span
            key={one.name}
            class={`part-${rank % 6}`}
            style={{ width: at(one.bytes) }}
            title={`${one.name}: ${bytes(one.bytes)}`}
          />
        ))}
        <span class="room" style={{ left: at(room.bytes) }} />
      </div>
      <figcaption>
        <ul>
          {shown.map((one, rank) => (
            <li key={one.name}>
              <i class={`part-${rank % 6}`} /> {one.name} {bytes(one.bytes)}
            </li>
          ))}
        </ul>
        <p class={total > room.bytes ? "over" : "fits"}>{verdict(total, room, least)}</p>
      </figcaption>
    </figure>
  );
}

function verdict(total: number, room: Room, least: boolean): string {
  const needed = `${least ? "at least " : ""}${bytes(total)}`;
  const share = `${((100 * total) / room.bytes).toFixed(1)}% of the ${room.memory} of ${room.name}`;
  if (total > room.bytes) return `does not fit: ${needed}, ${share}`;
  return `${least ? "may fit" : "fits"}: ${needed}, ${share}`;
}
