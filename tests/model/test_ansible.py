"""A cluster from an Ansible inventory, in YAML and INI: the same groups give the same cluster."""

import re
from pathlib import Path

import pytest

from edgeplace.model import Cluster, InvalidInputError, read
from edgeplace.model.inventory.ansible import cluster_of_ini

PAGE = Path(__file__).parents[2] / "docs" / "cluster.md"
SITES = """\
[sites:children]
lyon
cloud
[lyon]
pi-1 edgeplace_cores=4 edgeplace_slots=4
[cloud]
server-1 edgeplace_cores=16 edgeplace_slots=24
"""


def of_page(kind):
    found = re.findall(rf"^```{kind}\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    (text,) = (text for text in found if "edgeplace_" in text)
    return text


def of(text, tmp_path, name="hosts.ini"):
    (tmp_path / name).write_text(text)
    return read(tmp_path / name, Cluster)


def refused(text, tmp_path, name="hosts.ini"):
    with pytest.raises(InvalidInputError) as caught:
        of(text, tmp_path, name)
    return str(caught.value)


def test_the_inventories_of_the_page(tmp_path):
    cluster = of(of_page("yaml"), tmp_path, "hosts.yaml")
    assert cluster == of(of_page("ini"), tmp_path)
    assert {s.id: s.tier for s in cluster.sites} == {
        "lyon": "edge",
        "nice": "edge",
        "cloud": "cloud",
    }
    assert {n.id: (n.site, n.node_class, n.cores) for n in cluster.nodes} == {
        "pi-lyon-1": ("lyon", "pi4", 4),
        "pi-lyon-2": ("lyon", "pi4", 4),
        "pi-nice-1": ("nice", "pi4", 4),
        "server-1": ("cloud", "default", 16),
    }
    hosts = {t.id: (t.host, t.slots, t.memory_bytes) for t in cluster.task_managers}
    assert hosts["pi-nice-1"] == ("10.0.2.11", 2, 3e9)
    (lyon, nice) = cluster.links
    assert (lyon.source, lyon.target, lyon.bandwidth_bytes_per_s) == ("lyon", "cloud", 1.25e6)
    assert nice.delay_ms == 40
    assert cluster.checkpoint_storage == "cloud"
    assert [(c.id, c.speed) for c in cluster.node_classes] == [("pi4", 0.3)]


def test_a_group_goes_before_the_group_above_and_a_host_before_both(tmp_path):
    text = SITES.replace(" edgeplace_cores=4", "") + (
        "[all:vars]\nedgeplace_cores=1\n[sites:vars]\nedgeplace_cores=2\n"
        "[lyon:vars]\nedgeplace_cores=3\n"
    )
    cluster = of(text, tmp_path)
    assert {n.id: n.cores for n in cluster.nodes} == {"pi-1": 3, "server-1": 16}


@pytest.mark.parametrize(
    ("pattern", "hosts"),
    [
        ("pi-[01:03]", ["pi-01", "pi-02", "pi-03"]),
        ("pi-[1:5:2]", ["pi-1", "pi-3", "pi-5"]),
        ("pi-[a:b].[1:2]", ["pi-a.1", "pi-a.2", "pi-b.1", "pi-b.2"]),
    ],
)
def test_ranges(tmp_path, pattern, hosts):
    cluster = of(SITES.replace("pi-1", pattern), tmp_path)
    assert [n.id for n in cluster.nodes][:-1] == hosts


def test_other_variables_are_not_ours(tmp_path):
    text = SITES.replace("pi-1 ", "pi-1 ansible_host=10.0.0.7 tier=gold ansible_user='a b' ")
    cluster = of(text, tmp_path)
    assert cluster.task_managers[0].host == "10.0.0.7"
    assert cluster.sites[0].tier == "edge"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("edgeplace_slots=4", "edgeplace_slot=4"), "did you mean edgeplace_slots?"),
        (("[lyon]\n", "[elsewhere]\n"), "host 'pi-1' is in no group under `sites`"),
        (("[cloud]\n", "[cloud]\npi-1\n"), "host 'pi-1' is of the sites lyon, cloud"),
        (("edgeplace_cores=4", ""), "host 'pi-1' has no edgeplace_cores"),
        (
            ("[lyon]\n", "[lyon:children]\nupper\n[upper:children]\nlyon\n[lyon]\n"),
            "in a circle, upwards: lyon -> upper -> lyon",
        ),
        (("[lyon]", "[lyon:hosts]"), "hosts.ini:4: '[lyon:hosts]' is no section"),
        (("pi-1 ", "pi-[3:1] "), "'pi-[3:1]' stands for 0 hosts"),
        (("pi-1 ", "pi-[1:999999] "), "stands for 999,999 hosts"),
        (("slots=4", "slots='4"), "hosts.ini:5: the line cannot be read"),
        (("edgeplace_cores=4", "edgeplace_cores=four"), "four"),
        (
            ("[lyon]\n", "[lyon]\npi-2 edgeplace_cores=1 edgeplace_tier=edge\n"),
            None,
        ),
        (
            ("pi-1 ", "pi-2 edgeplace_cores=1 edgeplace_tier=edge\npi-1 edgeplace_tier=cloud "),
            "host 'pi-1' says edgeplace_tier: 'cloud' of site 'lyon', and another one says 'edge'",
        ),
        (("lyon\ncloud\n", "lyon\ncloud\nnice\n"), None),
    ],
)
def test_what_is_wrong_is_said(tmp_path, change, said):
    text = SITES.replace(*change, 1)
    assert text != SITES
    if said is None:
        assert of(text, tmp_path).sites
    else:
        assert said in refused(text, tmp_path)


def test_an_inventory_without_hosts():
    with pytest.raises(InvalidInputError, match="has no hosts"):
        cluster_of_ini("[sites:children]\nlyon\n", "hosts")


def test_groups_in_yaml_are_mappings(tmp_path):
    text = "all: {children: {sites: {children: {lyon: {hosts: [pi-1]}}}}}\n"
    assert "hosts of group 'lyon' is no mapping" in refused(text, tmp_path, "hosts.yaml")
    text = "all: {children: {sites: {children: {lyon: {host: {}}}}}}\n"
    assert "group 'lyon' has 'host'" in refused(text, tmp_path, "hosts.yaml")


def test_a_file_called_hosts_is_one(tmp_path):
    assert of(SITES, tmp_path, "hosts") == of(SITES, tmp_path)
