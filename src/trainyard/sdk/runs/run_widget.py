"""RunDetails: a run as a widget that lives in a notebook, and as text elsewhere."""

from __future__ import annotations

import functools
import threading
import time
from typing import Any

from trainyard.sdk.effects import no_effect, note_once, tell_once
from trainyard.sdk.errors import AzureMLException, UserErrorException
from trainyard.sdk.runs.run import Run
from trainyard.sdk.runs.run_text import text_of
from trainyard.sdk.runs.run_view import RunView, asset, script

_EVERY_S = 1.0
_COST = 10  # a look may take a tenth of the time: slower ones are taken less often
_IDLE_S = 5.0  # the longest pause when nothing happens
_EMPTY: dict[str, Any] = {
    "run": {},
    "metrics": [],
    "system": [],
    "log": {"names": [], "name": None, "text": "", "cut": False},
    "children": {"rows": [], "primary": None, "params": [], "metrics": []},
}


class RunDetails:
    """`RunDetails(run).show()` shows a run of any kind: its state and phases, what it logs, its output, what it uses of
    its nodes, and the runs below it."""

    def __init__(self, run_instance: Run) -> None:
        if not isinstance(run_instance, Run):
            raise UserErrorException(
                f"RunDetails shows a run, not a {type(run_instance).__name__}. Give it what submit() or "
                "start_logging() answered."
            )
        self._run = run_instance

    def show(self, render_lib: Any = None, widget_settings: Any = None) -> None:
        """Shows the run and returns at once; in a notebook it is kept up to date until the run is over."""
        no_effect("RunDetails.show", render_lib=render_lib, widget_settings=widget_settings or None)
        view = RunView(self._run)
        view.look()
        if _in_notebook() and (made := _widget(view)) is not None:
            from IPython.display import display

            display(made)  # type: ignore[no-untyped-call]
            threading.Thread(target=_keep_up, args=(made, view), name="trainyard-widget", daemon=True).start()
        else:
            print(text_of(view.whole()))

    def get_widget_data(self, widget_settings: Any = None) -> dict[str, Any]:
        """What the widget draws, as it is now."""
        no_effect("RunDetails.get_widget_data", widget_settings=widget_settings or None)
        view = RunView(self._run)
        view.look()
        return view.whole()


def _widget(view: RunView) -> Any | None:
    """None, with a hint, where the extra is not installed."""
    try:
        kind = widget_class()
    except ImportError as error:
        hint = f"The widget needs {error.name}: pip install 'trainyard[notebook]'. Until then runs are shown as text."
        tell_once(hint)
        return None
    made = kind(**{**_EMPTY, **view.whole()})
    made.observe(lambda change: setattr(view, "chosen_log", change["new"]), names="chosen_log")
    return made


def _keep_up(widget: Any, view: RunView) -> None:
    """Hands on what changed until the run is over, or nobody shows it any more."""
    pause = _EVERY_S
    while True:
        over, chosen = view.over, view.chosen_log
        began = time.monotonic()
        try:
            changed = view.look()
            for part, value in changed.items():
                setattr(widget, part, value)
        except (AzureMLException, OSError) as error:
            changed = {}
            note_once(f"What is shown of run {view.of.id} is not up to date: {error}")
        if over and chosen == view.chosen_log and not changed:
            pause = _IDLE_S  # only another log can be asked for now
        else:
            pause = _EVERY_S if changed else min(_IDLE_S, pause * 1.3)
        until = time.monotonic() + max(pause, _COST * (time.monotonic() - began))
        while time.monotonic() < until and view.chosen_log == chosen:
            time.sleep(0.1)
        if widget.comm is None:
            return


@functools.cache
def widget_class() -> type[Any]:
    """Made when it is first needed: a job must not need what a notebook does."""
    import anywidget
    import traitlets

    class RunWidget(anywidget.AnyWidget):
        _esm = script()
        _css = asset("run_details.css")
        run = traitlets.Dict().tag(sync=True)
        metrics: Any = traitlets.List().tag(sync=True)
        system: Any = traitlets.List().tag(sync=True)
        log = traitlets.Dict().tag(sync=True)
        children = traitlets.Dict().tag(sync=True)
        chosen_log = traitlets.Unicode("").tag(sync=True)

        def _repr_mimebundle_(self, **kwargs: Any) -> Any:
            """With the text form, for whoever reads the notebook without its widgets."""
            bundle = super()._repr_mimebundle_(**kwargs)
            parts = {name: getattr(self, name) for name in _EMPTY}
            shown: Any = bundle[0] if isinstance(bundle, tuple) else bundle
            shown["text/plain"] = text_of(parts)
            return bundle

    return RunWidget


def _in_notebook() -> bool:
    try:
        from IPython import get_ipython
    except ImportError:
        return False
    shell = get_ipython()
    return shell is not None and hasattr(shell, "kernel")
