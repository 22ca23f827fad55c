"""The public names, for type checkers and editors: `__init__.py` imports each when it is asked for."""

from archspec.authoring.derive import Derived as Derived
from archspec.authoring.derive import derive as derive
from archspec.authoring.verify import Verification as Verification
from archspec.authoring.verify import verify as verify
from archspec.checking.check import Check as Check
from archspec.checking.check import check as check
from archspec.compare.diff import Diff as Diff
from archspec.compare.diff import diff as diff
from archspec.compare.table import ModelTable as ModelTable
from archspec.compare.table import table as table
from archspec.costs.forward import CacheTensor as CacheTensor
from archspec.costs.forward import Forward as Forward
from archspec.costs.weights import Weights as Weights
from archspec.errors import ArchspecError as ArchspecError
from archspec.errors import ConfigError as ConfigError
from archspec.errors import FormulaError as FormulaError
from archspec.errors import MissingPackageError as MissingPackageError
from archspec.errors import Problem as Problem
from archspec.errors import SpecError as SpecError
from archspec.errors import SweepError as SweepError
from archspec.errors import UnknownArchitectureError as UnknownArchitectureError
from archspec.linting.files import Lint as Lint
from archspec.linting.files import lint as lint
from archspec.linting.schema import spec_schema as spec_schema
from archspec.models.calls import Cache as Cache
from archspec.models.calls import Flops as Flops
from archspec.models.catalog import Catalog as Catalog
from archspec.models.catalog import architectures as architectures
from archspec.models.catalog import catalog as catalog
from archspec.models.counts import Counts as Counts
from archspec.models.fields import Fields as Fields
from archspec.models.fields import FieldValue as FieldValue
from archspec.models.fields import Sensitivities as Sensitivities
from archspec.models.formula import Formula as Formula
from archspec.models.memory import Memory as Memory
from archspec.models.memory import Training as Training
from archspec.models.model import Model as Model
from archspec.models.model import formula as formula
from archspec.models.model import load as load
from archspec.models.parts import Excerpt as Excerpt
from archspec.models.parts import Leading as Leading
from archspec.models.parts import Parts as Parts
from archspec.models.tree import Tree as Tree
from archspec.schemas import schema as schema
from archspec.solving.solutions import complete as complete
from archspec.solving.solve import Solution as Solution
from archspec.solving.solve import Solutions as Solutions
from archspec.solving.solve import solve as solve
from archspec.specs.library import TRANSFORMERS_VERSION as TRANSFORMERS_VERSION
from archspec.sweeping.sweep import Sweep as Sweep
from archspec.sweeping.sweep import sweep as sweep
from archspec.tree.tensors import Tensor as Tensor

__version__: str
__all__: list[str]
