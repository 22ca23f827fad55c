/** Curves drawn by uPlot in the page's colors; null is a gap. */
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { short } from "../numbers";

export interface Curve {
  name: string;
  colour: number; // index into the palette
  dashed: boolean;
  values: (number | null | undefined)[];
}

/** `letter`: the suffix for 1e9. */
export interface Shown {
  name: string;
  field: string;
  letter: "B" | "G";
  along: number[];
  curves: Curve[];
  log: boolean;
}

interface Colours {
  text: string;
  line: string;
  curves: string[];
}

// a canvas has no light-dark(): the style sheet's colors, once per scheme
const LIGHT: Colours = {
  text: "#1c2430",
  line: "#d9dde3",
  curves: ["#1f5fbf", "#b3620e", "#2e8b57", "#8e4ec6", "#c2416b", "#4a8c99"],
};
const DARK: Colours = {
  text: "#e6e9ee",
  line: "#323b47",
  curves: ["#6ea6ff", "#f0a95b", "#6ccf97", "#c39af0", "#f28bad", "#7fc4d1"],
};
const prefersDark = matchMedia("(prefers-color-scheme: dark)");
const dark = signal(prefersDark.matches);
prefersDark.addEventListener("change", () => (dark.value = prefersDark.matches));
const HEIGHT = 360;
const MANY = 60; // from this many points on, only lines are drawn

/** Returns true if points are drawn: a value between two gaps has no line. */
function pointsSeen({ data }: uPlot, rank: number): boolean {
  return data[0].length < MANY || (data[rank]?.some((one) => one === null) ?? false);
}

export function Plot({ name, field, letter, along, curves, log }: Shown) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const data = [along, ...curves.map((one) => one.values)] as uPlot.AlignedData;
  const colours = dark.value ? DARK : LIGHT;
  const made = JSON.stringify([name, field, curves.map((one) => one.name), log, dark.value]);

  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const axis = {
      stroke: colours.text,
      grid: { stroke: colours.line, width: 1 },
      ticks: { stroke: colours.line },
      values: (_: uPlot, splits: number[]) => splits.map((one) => (one === null ? "" : short(one))),
    };
    const drawn = new uPlot(
      {
        width: element.clientWidth,
        height: HEIGHT,
        scales: { x: { time: false, distr: log ? 3 : 1 }, y: { distr: log ? 3 : 1 } },
        axes: [
          { ...axis, label: field },
          {
            ...axis,
            label: name,
            size: 64,
            values: (_, splits) => splits.map((one) => (one === null ? "" : short(one).replace("B", letter))),
          },
        ],
        series: [
          { label: field },
          ...curves.map((one) => ({
            label: one.name,
            stroke: colours.curves[one.colour % colours.curves.length] ?? colours.text,
            width: 2,
            ...(one.dashed ? { dash: [8, 6] } : {}),
            points: { show: pointsSeen, size: 5 },
          })),
        ],
      },
      data,
      element,
    );
    plot.current = drawn;
    const resized = new ResizeObserver(() => drawn.setSize({ width: element.clientWidth, height: HEIGHT }));
    resized.observe(element);
    return () => {
      resized.disconnect();
      drawn.destroy();
    };
  }, [made]);
  useEffect(() => plot.current?.setData(data));
  return (
    <div class="plot" ref={place} role="img" aria-label={`${name} over ${field}, as in the table below`} />
  );
}
