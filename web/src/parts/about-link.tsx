/** Warns about values of the link that cannot be read, and values too long for a link. */
import { unread, untold } from "../state";

export function AboutLink() {
  return (
    <>
      {unread.value.length ? (
        <p role="alert" class="refusal">
          This link is damaged: {unread.value.join(", ")} could not be read. Some programs truncate long
          links.
        </p>
      ) : null}
      {untold.value.length ? (
        <p role="status" class="note">
          Too long for a link: {untold.value.join(", ")}. The link, or reloading this page, shows the page
          without it.
        </p>
      ) : null}
    </>
  );
}
