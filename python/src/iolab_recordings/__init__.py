"""Recordings of iolab as Python values and as frames of pandas or polars.

    import iolab_recordings

    recording = iolab_recordings.load("before.iolab")
    print(recording.summary()[0])
    recording.frame("intervals")                 # a DataFrame of pandas
    recording.frame("summary", library="polars")

All times are ns and all sizes bytes, as in the file. Figures are those of ``iolab report``: the same rates, by the same
definition, and the same percentiles.
"""

from .histogram import Histogram
from .recording import Job, NotARecording, Recording, load, loads

__all__ = ["Histogram", "Job", "NotARecording", "Recording", "load", "loads"]
