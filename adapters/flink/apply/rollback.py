"""The plan file as it stood before a change, and how to bring it back."""

from pathlib import Path

from edgeplace.adapters.flink.apply.proposal import FileChange
from edgeplace.adapters.flink.errors import PlanNotWrittenError
from edgeplace.adapters.flink.plans.folder import PlansFolder
from edgeplace.model import InvalidInputError


class FormerPlan:
    """What a plan file held, made ready before it is written: going back needs no space.

    Raises
    ------
    PlanNotWrittenError
        If it cannot be made ready.
    """

    def __init__(self, folder: PlansFolder, change: FileChange) -> None:
        self._folder = folder
        self._path = change.path
        self._former = change.former
        self._way_back = change.way_back
        self._staged: dict[str, Path] = {}
        try:
            for text in (self._former, self._way_back):
                if text is not None and text not in self._staged:
                    self._staged[text] = folder.stage(text)
        except PlanNotWrittenError:
            self.discard()
            raise
        self.needed = False
        """The file may be changed, and the change has not proved itself."""

    def restore(self, moved: bool) -> str | None:
        """Put back what was there, or what leads back if the job was moved; return its text.

        Parameters
        ----------
        moved
            Whether the job was moved, or begins to be.

        Raises
        ------
        PlanNotWrittenError
            If that is not possible.
        """
        text = self._way_back if moved else self._former
        if not self._stands(text):
            try:
                if text is None:
                    self._folder.remove(self._path)
                else:
                    staged = self._staged.pop(text, None) or self._folder.stage(text)
                    self._folder.put(staged, self._path)
            except PlanNotWrittenError:
                # What cannot be done is said, and not tried for ever.
                self.needed = False
                raise
        self.needed = False
        return text

    def discard(self) -> None:
        """Remove what was made ready."""
        for path in self._staged.values():
            path.unlink(missing_ok=True)
        self._staged = {}

    def _stands(self, text: str | None) -> bool:
        try:
            return self._folder.read(self._path) == text
        except InvalidInputError:
            return False
