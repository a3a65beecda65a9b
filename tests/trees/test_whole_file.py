"""Files appear complete or not at all."""

import errno
import os
import stat

import pytest

from rimetree.whole_file import require_place, whole_file, write_text


def test_a_file_is_replaced_at_the_end(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("old")
    file.chmod(0o640)
    with whole_file(file) as temporary:
        with open(temporary, "w") as stream:
            stream.write("new")
        assert file.read_text() == "old"
        assert os.path.splitext(temporary)[1] == ".txt"
    assert file.read_text() == "new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("old")
    with pytest.raises(KeyboardInterrupt), whole_file(file) as temporary:
        with open(temporary, "w") as stream:
            stream.write("half")
        raise KeyboardInterrupt
    assert [(entry.name, entry.read_text()) for entry in tmp_path.iterdir()] == [("a.txt", "old")]


def test_a_full_disk_is_named_with_the_file(tmp_path):
    full = pytest.raises(OSError, match=r"cannot be written: No space left on device: '.*a\.txt'")
    with full, whole_file(tmp_path / "a.txt"), open("/dev/full", "w") as stream:
        stream.write("x" * 100000)
    assert list(tmp_path.iterdir()) == []


def test_links_are_followed_and_new_files_get_the_usual_permissions(tmp_path):
    (tmp_path / "link").symlink_to("target")
    write_text(tmp_path / "link", "text\n")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "text\n"
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE((tmp_path / "target").stat().st_mode) == 0o666 & ~mask


def test_places_that_cannot_be_written(tmp_path):
    with pytest.raises(FileNotFoundError, match="no folder"), whole_file(tmp_path / "no" / "a"):
        pass
    with pytest.raises(IsADirectoryError), whole_file(tmp_path):
        pass


def test_what_is_no_file_is_not_replaced(tmp_path):
    """The null device would have been, for whoever may."""
    os.mkfifo(tmp_path / "pipe")
    for write in (require_place, lambda path: write_text(path, "text")):
        with pytest.raises(OSError, match="no file that could be replaced"):
            write(tmp_path / "pipe")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode) and os.listdir(tmp_path) == ["pipe"]


def test_places_are_looked_at_beforehand(tmp_path):
    (tmp_path / "a.txt").write_text("old")
    for name in ("a.txt", "b.txt"):
        require_place(tmp_path / name)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        require_place(tmp_path / "none" / "a.txt")
    assert os.listdir(tmp_path) == ["a.txt"] and (tmp_path / "a.txt").read_text() == "old"


def test_errors_of_the_system_behind_others_name_the_file(tmp_path):
    """A PDF on a full disk ended in a traceback of zlib, which could not close its stream."""
    with pytest.raises(OSError, match="cannot be written: No space left") as caught, whole_file(tmp_path / "a.pdf"):
        try:
            raise OSError(errno.ENOSPC, "No space left on device")
        finally:
            raise ValueError("inconsistent stream state")
    assert caught.value.filename == str(tmp_path / "a.pdf")
    with pytest.raises(ValueError, match="mistake"), whole_file(tmp_path / "a.pdf"):
        raise ValueError("mistake")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("write", [write_text, lambda path, _: require_place(path)], ids=["write", "require_place"])
def test_a_signal_while_the_file_is_made_leaves_nothing(tmp_path, monkeypatch, write):
    """An empty file had stayed, by a name that is not listed."""

    def interrupted(handle, close=os.close):
        close(handle)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "close", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "a.txt", "text\n")
    monkeypatch.undo()
    assert list(tmp_path.iterdir()) == []
