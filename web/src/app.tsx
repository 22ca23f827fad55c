import { Chooser } from "./explore/chooser";
import { AboutLink } from "./parts/about-link";
import { Footer } from "./parts/footer";
import { SetFields } from "./parts/set-fields";
import { VIEWS, type View, view } from "./state";
import { CompareView } from "./views/compare";
import { CostsView } from "./views/costs";
import { CountView } from "./views/count";
import { FormulaView } from "./views/formula";
import { KnobsView } from "./views/knobs";
import { TensorsView } from "./views/tensors";

const TITLES: Record<View, string> = {
  count: "Count",
  knobs: "Knobs",
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
        <p>exact parameter counts from a config; nothing leaves this page</p>
      </header>
      <main>
        <Chooser />
        <AboutLink />
        <SetFields />
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
        {shown(view.value)}
      </main>
      <Footer />
    </>
  );
}

function shown(at: View) {
  if (at === "knobs") return <KnobsView />;
  if (at === "tensors") return <TensorsView />;
  if (at === "formula") return <FormulaView />;
  if (at === "costs") return <CostsView />;
  if (at === "compare") return <CompareView />;
  return <CountView />;
}
