/** What the link does not hold: what of it cannot be read, and what is too long for one. */
import { unread, untold } from "../state";

export function AboutLink() {
  return (
    <>
      {unread.value.length ? (
        <p role="alert" class="refusal">
          This link cannot be read in full: what it says of {unread.value.join(", ")} is left out. Long links
          are cut off on some ways.
        </p>
      ) : null}
      {untold.value.length ? (
        <p role="status" class="note">
          Too long for a link: {untold.value.join(", ")}. Whoever opens it, or this page anew, sees the page
          without it.
        </p>
      ) : null}
    </>
  );
}
