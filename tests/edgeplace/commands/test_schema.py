"""`edgeplace schema`."""

import json

from edgeplace.cli.main import main
from edgeplace.cli.schemas import DOCUMENTS, schema


def test_the_command_prints_one_and_writes_all(edgeplace, tmp_path):
    assert json.loads(edgeplace("schema", "cluster").out) == schema("cluster")
    assert "mkdir -p" in edgeplace("schema", "-o", tmp_path / "all").err
    (tmp_path / "all").mkdir()
    ran = edgeplace("schema", "-o", tmp_path / "all")
    assert ran.status == 0
    assert {file.stem for file in (tmp_path / "all").iterdir()} == set(DOCUMENTS)
    for wrong in (["schema"], ["schema", "job", "-o", tmp_path]):
        refused = edgeplace(*wrong)
        assert refused.status == 2
        assert "give a KIND, or -o FOLDER" in refused.err


def test_a_kind_that_is_nearly_one(capsys):
    assert main(["schema", "clutser"]) == 2
    assert "did you mean 'cluster'?" in capsys.readouterr().err
