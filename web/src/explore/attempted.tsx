import type { Attempt } from "./hub";

/** Shows the state of a fetch from the hub. */
export function Attempted({ attempt: { message, refused, page } }: { attempt: Attempt }) {
  return (
    <p role={refused ? "alert" : "status"} class={refused ? "refusal" : "note"}>
      {message}{" "}
      {page ? (
        <a href={page} target="_blank" rel="noreferrer">
          its page on the hub
        </a>
      ) : null}
    </p>
  );
}
