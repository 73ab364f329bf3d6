"""What happens on the testbed when an event of a schedule begins and ends."""

from unittest.mock import Mock, call

from edgeplace.control.rehearsal import LostSite
from testbed.network.wan_link import LinkSpec
from testbed.rehearsal.injection import Injector


def test_when_a_site_is_back_what_ended_there_meanwhile_is_started_again():
    link = LinkSpec("hall", "cloud", bytes_per_s=1e6, delay_ms=10.0)
    world = Mock(links=[link], layout=Mock(machines=[]))
    injector = Injector(world, Mock(), 80.0, Mock())
    cut = LostSite(at_s=0, do="cut", site="hall", for_s=360)
    injector.begin(cut)
    (lost,), _ = world.set_links.call_args
    assert [each.loss for each in lost] == [1.0]
    assert call.cluster.start_ended() not in world.mock_calls
    injector.end(cut)
    assert world.mock_calls[-2:] == [call.set_links([link]), call.cluster.start_ended()]
