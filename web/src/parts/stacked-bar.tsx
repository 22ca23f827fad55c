/** A stacked bar of bytes, compared with the accelerator's memory. */
import { bytes, type Whole } from "../numbers";

export interface Segment {
  name: string;
  bytes: Whole;
}

/** Memory: a label such as `the 80 GB of NVIDIA H100 SXM`, its size, and its nominal size. */
export interface Room {
  called: string;
  bytes: number;
  most: number;
}

interface Props {
  segments: Segment[];
  room: Room;
  least?: boolean; // the parts are lower bounds
}

export function StackedBar({ segments, room, least = false }: Props) {
  const total = segments.reduce((sum, one) => sum + Number(one.bytes), 0);
  const whole = Math.max(total, room.bytes);
  const shown = segments.filter((one) => one.bytes !== 0);
  const at = (part: Whole) => `${(100 * Number(part)) / whole}%`;
  return (
    <figure class="stack">
      <p class={total > room.bytes ? "over" : "fits"}>{verdict(total, room, least)}</p>
      <div class="bar" aria-hidden="true">
        {shown.map((one, rank) => (
          <span
            key={one.name}
            class={`part-${rank % 6}`}
            style={{ width: at(one.bytes) }}
            title={`${one.name}: ${bytes(one.bytes)}`}
          />
        ))}
        <span class="room" style={{ left: at(room.bytes) }} title={room.called} />
      </div>
      <figcaption>
        <ul>
          {shown.map((one, rank) => (
            <li key={one.name}>
              <i class={`part-${rank % 6}`} /> {one.name} {bytes(one.bytes)}
            </li>
          ))}
        </ul>
      </figcaption>
    </figure>
  );
}

const TIGHT = 0.9; // share of memory that serving engines use by default
const NOT_COUNTED = "memory that libraries reserve and fragmentation, which are not counted";

function verdict(total: number, room: Room, least: boolean): string {
  const needed = `${least ? "at least " : ""}${bytes(total)}, ${percentOf(total, room)} of ${room.called}`;
  const over = `${needed}; ${bytes(total - room.bytes)} too much`;
  if (total > room.most) return `does not fit: ${over}`;
  if (total > room.bytes) return `barely: ${over}, unless its GB are GiB`;
  const left = `${bytes(room.bytes - total)} left${least ? " at most" : ""}`;
  if (total > TIGHT * room.bytes) return `tight: ${needed}; ${left}, for ${NOT_COUNTED}`;
  return `${least ? "may fit" : "fits"}: ${needed}; ${left}`;
}

function percentOf(total: number, room: Room): string {
  return `${((100 * total) / room.bytes).toFixed(1)}%`;
}
