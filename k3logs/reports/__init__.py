"""A verdict as text, JSON or a ticket: one class per output.

To add an output: a class with :class:`~k3logs.reports.base.Renderer`'s three members in a module of its own, and its
name in :data:`REPORTS`. ``--format`` and ``-o NAME.extension`` find it there.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from k3logs.reports.base import Renderer

REPORTS = {
    "text": "k3logs.reports.text:TextReport",
    "json": "k3logs.reports.jsonreport:JsonReport",
    "markdown": "k3logs.reports.markdown:MarkdownReport",
}
"""Format name -> module and class; imported when used."""


def renderer(name: str) -> Renderer:
    """The renderer of a format name in :data:`REPORTS`.

    Raises:
        KeyError: no such format.
    """
    module, _, kind = REPORTS[name].partition(":")
    return cast("Renderer", getattr(import_module(module), kind)())


def extensions() -> dict[str, str]:
    """File extension, without the dot -> format name."""
    return {renderer(name).extension: name for name in REPORTS}
