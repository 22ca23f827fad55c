/** A labeled select. */
import type { ComponentChildren } from "preact";

/** `children`: the options. */
interface Props {
  label: string;
  value: string;
  choose: (value: string) => void;
  class?: string;
  disabled?: boolean;
  children: ComponentChildren;
}

export function Select({ label, value, choose, class: named, disabled, children }: Props) {
  return (
    <label class={named}>
      {label}
      <select value={value} disabled={disabled} onChange={(event) => choose(event.currentTarget.value)}>
        {children}
      </select>
    </label>
  );
}

/** Options for values, or for pairs of a value and its title. */
export function OptionsOf({
  values,
}: {
  values: readonly (string | readonly [value: string, title: string])[];
}) {
  return values.map((one) => {
    const [value, title] = typeof one === "string" ? [one, one] : one;
    return (
      <option key={value} value={value}>
        {title}
      </option>
    );
  });
}
