import { Chooser } from "./parts/chooser";
import { source, VIEWS, type View, view } from "./state";
import { CountView } from "./views/count";
import { TensorsView } from "./views/tensors";

const TITLES: Record<View, string> = {
  count: "Count",
  tensors: "Tensors",
  formula: "Formula",
  costs: "Costs",
  compare: "Compare",
};

export function App() {
  return (
    <>
      <header>
        <h1>archspec</h1>
        <p>exact parameter counts, from a config alone; nothing leaves this page</p>
      </header>
      <main>
        <Chooser />
        <nav aria-label="views">
          {VIEWS.map((one) => (
            <button
              key={one}
              type="button"
              aria-current={view.value === one ? "page" : undefined}
              onClick={() => (view.value = one)}
            >
              {TITLES[one]}
            </button>
          ))}
        </nav>
        {view.value === "tensors" ? <TensorsView /> : <CountView key={JSON.stringify(source.value)} />}
      </main>
    </>
  );
}
