import { counted } from "../counted";
import { CountsOf } from "../parts/counts";
import { Problems } from "../parts/problems";

export function CountView() {
  const { result, pending, problems } = counted.value;
  if (problems.length) return <Problems problems={problems} />;
  if (!result) return <p role="status">starting the engine …</p>;
  return (
    <section aria-busy={pending} aria-label="count">
      <CountsOf {...result} />
    </section>
  );
}
