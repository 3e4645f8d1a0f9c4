"""The verdict as one JSON object, as ``contract/verdict.schema.json`` says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from k3logs.reports.base import Look
from k3logs.reports.contract import to_contract

if TYPE_CHECKING:
    from k3logs.model import Verdict


class JsonReport:
    """Plain ASCII, so that no character in a log reaches a terminal as it is."""

    extension = "json"

    def render(self, verdict: Verdict, look: Look = Look()) -> str:  # noqa: B008
        """See :class:`k3logs.reports.base.Renderer`."""
        return json.dumps(to_contract(verdict), indent=1, ensure_ascii=True, allow_nan=False) + "\n"
