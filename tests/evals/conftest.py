"""The builders of exports are those of the offline tests."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "offline"))
