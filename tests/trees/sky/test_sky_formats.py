"""Telling formats apart, and files that are missing, wrong or cannot be written."""

import os
import stat
import threading

import pytest

from rimetree import sky
from rimetree.sky import SkyModel, SkyModelError, Source

MODEL = SkyModel((Source("s", 1.0, 0.5, (1, 0, 0, 0)),))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "1:1: not a sky model that can be read (the file is empty)"),
        ("P1 8 13 35 48 12 59 1 0 0 0 0 0 0 0 0 1e8\n", "a table of SAGECal or one of Tigger without a header"),
        ("# Gaus_id RA\nx y\n", "no format line"),
        ("hello\n", "formats are bbs, wsclean, tigger-html, tigger-text, oskar"),
    ],
)
def test_other_files_are_recognised_as_such(tmp_path, text, message):
    path = tmp_path / "x.txt"
    path.write_text(text)
    with pytest.raises(SkyModelError) as error:
        sky.read(path)
    assert str(error.value).startswith(str(path)) and message in str(error.value)


@pytest.mark.parametrize("before", ["\n" * 100, "# a comment\n\n" * 100])
def test_many_lines_before_the_first_that_counts(tmp_path, before):
    """Each had doubled the time that it took to tell formats apart."""
    path = tmp_path / "x.txt"
    for text in ("format = Name, Ra, Dec, I\ns, 1:00:00, 1.0.0, 1\n", "SOURCE s 1 2\nFREQ 1e8 1 0 0 0\nENDSOURCE\n"):
        path.write_text(before + text)
        assert sky.read(path).names == ["s"]


def test_missing_unreadable_and_binary_files(tmp_path):
    with pytest.raises(SkyModelError, match=r"none\.txt: cannot read the sky model: No such file"):
        sky.read(tmp_path / "none.txt")
    with pytest.raises(SkyModelError, match="Is a directory"):
        sky.read(tmp_path)
    path = tmp_path / "x.txt"
    path.write_bytes(b"format = Name\nab\xff\n")
    with pytest.raises(SkyModelError, match=r"x\.txt:2:3: this is not UTF-8"):
        sky.read(path)


def test_unknown_formats(tmp_path):
    with pytest.raises(SkyModelError, match="unknown format 'png'; formats are bbs"):
        sky.read(tmp_path / "x", format="png")
    with pytest.raises(SkyModelError, match="'oskar' cannot be written; formats are bbs, wsclean"):
        sky.write(MODEL, tmp_path / "x", format="oskar")


@pytest.mark.parametrize("name", ["x.json", "x.lsm.html", "x.osm", "x.skymodel.gz"])
def test_names_of_formats_that_are_not_written(tmp_path, name):
    """It had written a BBS list, and said only that it had."""
    with pytest.raises(sky.SkyModelError, match="read but not written"):
        sky.write(MODEL, tmp_path / name)
    assert not list(tmp_path.iterdir())
    sky.write(MODEL, tmp_path / name, format="bbs")
    assert len(sky.read(tmp_path / name)) == len(MODEL)


def test_byte_order_mark_and_windows_lines(tmp_path):
    path = tmp_path / "x.txt"
    path.write_bytes(b"\xef\xbb\xbfformat = Name, Ra, Dec, I\r\ns, 1:0:0, 2.0.0, 3\r\n")
    assert sky.read(path)["s"].stokes_jy[0] == 3


def test_writing_replaces_whole_files_only(tmp_path):
    path = tmp_path / "x.skymodel"
    path.write_text("old")
    path.chmod(0o640)
    sky.write(MODEL, path)
    assert sky.read(path)["s"].isclose(MODEL["s"])
    assert path.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["x.skymodel"]


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "x.skymodel"
    path.write_text("old")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SkyModelError, match=r"x\.skymodel: cannot be written: No space left"):
        sky.write(MODEL, path)
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["x.skymodel"]


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(SkyModelError, match="there is no folder to write this file to"):
        sky.write(MODEL, tmp_path / "none" / "x.skymodel")


def test_what_is_no_file_stays_what_it_is(tmp_path):
    """As /dev/null, which had become a file if the user may replace it."""
    os.mkfifo(tmp_path / "x.skymodel")
    with pytest.raises(SkyModelError, match="this is no file that could be replaced"):
        sky.write(MODEL, tmp_path / "x.skymodel")
    assert stat.S_ISFIFO(os.stat(tmp_path / "x.skymodel").st_mode) and os.listdir(tmp_path) == ["x.skymodel"]


def test_a_link_stays_a_link(tmp_path):
    target, link = tmp_path / "target.txt", tmp_path / "link.txt"
    target.write_text("old")
    link.symlink_to(target)
    sky.write(MODEL, link)
    assert link.is_symlink() and sky.read(target).names == ["s"]


def test_a_pipe_is_read(tmp_path):
    """It had been looked into before it was read, and was empty then, or waited for ever for a second writer."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    text = "FORMAT = Name, Type, Ra, Dec, I\na, POINT, 04:00:00, -30.00.00, 2\n"
    writer = threading.Thread(target=pipe.write_text, args=(text,), daemon=True)
    writer.start()
    model = sky.read(pipe)
    writer.join(10)
    assert [source.name for source in model] == ["a"]
