"""Finished repetitions on disk: one Parquet file each, whole or not there at all."""

import hashlib
import io
import json
import os
from pathlib import Path

# Readers of a folder of Parquet files pass over names that begin so.
_HIDDEN = "_"
_MANIFEST = f"{_HIDDEN}manifest.json"
_NOTES = b"skbench_notes"
_DIGITS = 16  # of the SHA-256 that stands in each file name


class Store:
    """A folder of repetitions that survives interrupts and damage.

    Parameters
    ----------
    path : str or Path
        Folder; made if absent.
    settings : dict
        What decides the numbers, as JSON can hold it. A folder made with other
        settings is refused.

    Raises
    ------
    ValueError
        If the folder holds repetitions of other settings, or no manifest.
    """

    def __init__(self, path, settings):
        self.path = Path(path)
        self.path.mkdir(parents=True, exist_ok=True)
        manifest = self.path / _MANIFEST
        if not manifest.exists():
            if any(self.path.glob("repetition-*.parquet")):
                raise ValueError(
                    f"{self.path} holds repetitions but no {_MANIFEST}, so what they are of is "
                    "not known. Choose another folder."
                )
            self._write(manifest, json.dumps(settings, indent=1).encode())
        self._refuse_other(self._read_manifest(manifest), settings)
        # What a kill left half written was never part of the study.
        for half in self.path.glob("*.unfinished"):
            half.unlink()

    def _read_manifest(self, manifest):
        try:
            return json.loads(manifest.read_text())
        except json.JSONDecodeError:
            raise ValueError(
                f"{manifest} is damaged, so what the repetitions beside it are of is not known. "
                "Choose another folder."
            ) from None

    def _refuse_other(self, found, settings):
        for name in sorted({*found, *settings}):
            was, now = found.get(name), settings.get(name)
            if was != now:
                raise ValueError(
                    f"The study in {self.path} was run with {name}={was!r}, this one has {now!r}. "
                    "Set it as it was, or choose another folder."
                )

    def write(self, repetition, frame, notes):
        """Put one repetition down; it is there completely or not at all.

        Parameters
        ----------
        repetition : int
            Number of the repetition.
        frame : DataFrame
            Its rows.
        notes : list of dict
            Errors and warnings of its estimators.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = pa.Table.from_pandas(frame, preserve_index=False)
        metadata = {**table.schema.metadata, _NOTES: json.dumps(notes).encode()}
        buffer = io.BytesIO()
        pq.write_table(table.replace_schema_metadata(metadata), buffer)
        content = buffer.getvalue()
        name = f"repetition-{repetition:06d}-{_digest(content)}.parquet"
        self._write(self.path / name, content)

    def finished(self, n_repeats):
        """Numbers of the repetitions that are whole; damaged ones are removed.

        Parameters
        ----------
        n_repeats : int
            Repetitions of higher number are left alone.

        Returns
        -------
        set of int
        """
        whole = set()
        for repetition, path in self._files(n_repeats):
            if _digest(path.read_bytes()) == path.stem.split("-")[2] and repetition not in whole:
                whole.add(repetition)
            else:
                path.unlink()
        return whole

    def read(self, n_repeats, types):
        """All repetitions below `n_repeats`, in order.

        Parameters
        ----------
        n_repeats : int
            As for `finished`.
        types : dict of str to CategoricalDtype
            Columns that hold categories; Parquet keeps those of text only, and of no rows none.

        Yields
        ------
        frame : DataFrame
        notes : list of dict
        """
        import pyarrow.parquet as pq

        for _, path in self._files(n_repeats):
            table = pq.ParquetFile(path).read()
            yield table.to_pandas().astype(types), json.loads(table.schema.metadata[_NOTES])

    def _files(self, n_repeats):
        for path in sorted(self.path.glob("repetition-*-*.parquet")):
            repetition = int(path.stem.split("-")[1])
            if repetition < n_repeats:
                yield repetition, path

    def _write(self, path, content):
        half = path.with_name(f"{_HIDDEN}{path.name}.unfinished")
        half.write_bytes(content)
        os.replace(half, path)


def _digest(content):
    return hashlib.sha256(content).hexdigest()[:_DIGITS]
