/** An input for text. */
import type { PartialInputHTMLAttributes } from "preact";
import { useState } from "preact/hooks";

/** `value`: the text unless the user is changing it; `commit`: takes the changed text. */
type Props = Omit<PartialInputHTMLAttributes<HTMLInputElement>, "role" | "type"> & {
  type?: "number";
  value: string;
  commit: (text: string) => void;
};

/** Keeps what is being typed when the page is drawn again, for instance as an answer arrives. */
export function TextInput({ value, commit, ...attributes }: Props) {
  const [typed, type] = useState<string>();
  return (
    <input
      {...attributes}
      value={typed ?? value}
      onInput={(event) => type(event.currentTarget.value)}
      onChange={(event) => {
        commit(event.currentTarget.value);
        type(undefined);
      }}
    />
  );
}
