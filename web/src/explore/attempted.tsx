import type { Attempt } from "./hub";

/** How an attempt to fetch from the hub goes. */
export function Attempted({ attempt: { told, refused, page } }: { attempt: Attempt }) {
  return (
    <p role={refused ? "alert" : "status"} class={refused ? "refusal" : "note"}>
      {told}{" "}
      {page ? (
        <a href={page} target="_blank" rel="noreferrer">
          its page on the hub
        </a>
      ) : null}
    </p>
  );
}
