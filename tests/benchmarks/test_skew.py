"""`make skew` says why it leaves out what the machine cannot run."""

import pytest

REASON = "the benchmarks are not in the wheel, and not beside these tests"
skew = pytest.importorskip("benchmarks.skew", reason=REASON)
split_site = pytest.importorskip("benchmarks.split_site", reason=REASON)


def test_without_root_the_site_of_pis_is_left_out_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    skew.site_of_pis()
    said = capsys.readouterr().out
    assert said.startswith("not run")
    assert "root is needed" in said
    with pytest.raises(SystemExit, match="root is needed"):
        split_site.main()


def test_with_all_that_it_takes_the_site_of_pis_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = []
    monkeypatch.setattr(split_site, "lacks", lambda: None)
    monkeypatch.setattr(split_site, "main", lambda: ran.append(True))
    skew.site_of_pis()
    assert ran == [True]
