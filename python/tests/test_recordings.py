"""The reader on recordings of every form that iolab ever wrote, and on what is no recording."""

import json
import pathlib
import unittest

import iolab_recordings
from iolab_recordings import Histogram
from iolab_recordings.histogram import BUCKETS, bucket_middle, bucket_range

CORPUS = pathlib.Path(__file__).parents[2] / "crates/contract/recording/tests/corpus"


class Buckets(unittest.TestCase):
    def test_they_follow_each_other_and_are_as_wide_as_they_may_be(self):
        end = 0
        for index in range(BUCKETS):
            low, after = bucket_range(index)
            self.assertEqual(low, end)
            self.assertLessEqual(after - low, max(low // 64, 1))
            self.assertTrue(low <= bucket_middle(index) < after)
            end = after
        self.assertEqual(end, 1 << 46)

    def test_there_are_no_others(self):
        for index in (-1, BUCKETS):
            with self.assertRaises(ValueError):
                bucket_range(index)


class Histograms(unittest.TestCase):
    def test_a_known_set(self):
        values = range(1, 101)
        one = Histogram(100, 1, 100, sum(values), float(sum(v * v for v in values)), [(v, 1) for v in values])
        self.assertEqual(one.mean, 50.5)
        self.assertAlmostEqual(one.stddev, 29.011491975882016)
        self.assertEqual(one.percentiles([0, 1, 50, 99, 99.5, 100]), [1, 1, 50, 99, 100, 100])
        self.assertEqual(one.rows()[-1], {"low_ns": 100, "end_ns": 101, "count": 1, "share": 1.0})
        self.assertEqual(one.share_below(51), 0.5)
        twice = Histogram.merged([one, Histogram(), one])
        self.assertEqual((twice.count, twice.percentile(50), twice.min, twice.max), (200, 50, 1, 100))

    def test_nothing(self):
        self.assertFalse(Histogram())
        self.assertEqual((Histogram().percentile(99), Histogram().mean, Histogram().stddev), (0, 0, 0))

    def test_what_is_no_percentile(self):
        with self.assertRaises(ValueError):
            Histogram(1, 5, 5, 5, 25.0, [(5, 1)]).percentile(101)


class Recordings(unittest.TestCase):
    def test_every_form_is_read(self):
        paths = sorted(CORPUS.glob("*.json"))
        self.assertGreater(len(paths), 5)
        for path in paths:
            with self.subTest(path.name):
                recording = iolab_recordings.load(path)
                summary = recording.summary()
                self.assertTrue(summary)
                for row in summary:
                    self.assertGreater(row["iops"], 0)
                # The intervals of a worker add up to its totals.
                for plan, worker in recording._members():
                    if not worker.get("interval_latencies"):
                        continue
                    own = [row for row in recording.intervals() if row["worker"] == worker["number"]]
                    total = sum(direction["ios"] for direction in worker["directions"])
                    self.assertEqual(sum(row["ios"] for row in own), total)
                counted = sum(row["count"] for row in recording.latencies())
                measured = sum(one["lat"]["count"] for w in recording.fields["workers"] for one in w["directions"])
                self.assertEqual(counted, measured)
                self.assertEqual(len(recording.devices()), len(recording.fields["devices"]))

    def test_what_is_no_recording_is_said(self):
        for text, said in [
            ("plain text", "not the JSON of a recording"),
            ("[1]", "it has no `iolab_recording`"),
            ('{"fio version": "fio-3.33"}', "a JSON report of fio-3.33"),
            ('{"iolab_recording": 99}', "recording format 99; this package reads formats 1 and 2"),
        ]:
            with self.assertRaises(iolab_recordings.NotARecording) as caught:
                iolab_recordings.loads(text, "x.iolab")
            self.assertIn(said, str(caught.exception))
            self.assertTrue(str(caught.exception).startswith("x.iolab: "))

    def test_workers_are_found_by_their_number_and_hidden_ones_left_out(self):
        fields = json.loads(sorted(CORPUS.glob("1-*.json"))[-1].read_text())
        before = iolab_recordings.loads(json.dumps(fields)).summary()
        fields["plan"]["workers"].reverse()
        self.assertEqual(iolab_recordings.loads(json.dumps(fields)).summary(), before)
        hidden = fields["plan"]["workers"][0]
        hidden["measurement"]["stats"] = False
        self.assertNotIn(hidden["job"], [row["job"] for row in iolab_recordings.loads(json.dumps(fields)).summary()])

    def test_unknown_names(self):
        recording = iolab_recordings.load(sorted(CORPUS.glob("1-*.json"))[0])
        for wrong in (lambda: recording.frame("tables"), lambda: recording.frame("summary", "excel"), lambda: recording.latencies("olat")):
            with self.assertRaises(ValueError):
                wrong()


if __name__ == "__main__":
    unittest.main()
