import pytest
from files_server import serving

from trainyard.blobs.depots.web import WebDepot, refuse_private, web_depot
from trainyard.contract.errors import BadCredentials, DataAway, DataChanged, DataRefused, InvalidRequest, NoSuchData


@pytest.fixture
def web():
    with serving() as files:
        yield files


def test_a_file_is_looked_at_and_read(web):
    web.content["/a/b.gz"], web.tags["/a/b.gz"] = b"content", '"v1"'
    url = f"{web.url}/a/b.gz"
    file = WebDepot().look(url)
    assert (file.path, file.size, file.version) == (url, 7, '"v1"')
    assert b"".join(WebDepot().read(url, version='"v1"')) == b"content"
    assert b"".join(WebDepot().read(url, 3)) == b"tent"
    with pytest.raises(DataChanged):
        list(WebDepot().read(url, version='"v0"'))


def test_a_server_without_ranges_is_read_from_the_start(web):
    web.content["/f"], web.ranges = b"content", False
    assert b"".join(WebDepot().read(f"{web.url}/f", 3)) == b"tent"


def test_a_redirect_is_followed(web):
    web.content["/f"] = b"content"
    web.redirects["/head"] = f"{web.url}/f"
    assert WebDepot().look(f"{web.url}/head").size == 7


@pytest.mark.parametrize("content", [b"content", b""])
def test_a_server_that_answers_get_alone(web, content):
    web.content["/f"], web.tags["/f"], web.heads = content, '"v1"', False
    file = WebDepot().look(f"{web.url}/f")
    assert (file.size, file.version) == (len(content), '"v1"')
    assert b"".join(WebDepot().read(file.path, version='"v1"')) == content
    assert [it[0] for it in web.asked] == ["HEAD", "GET", "GET"]


@pytest.mark.parametrize(
    ("status", "error"), [(404, NoSuchData), (403, BadCredentials), (500, DataAway), (418, DataRefused)]
)
def test_what_a_server_says_no_with(web, status, error):
    web.status["/f"] = status
    with pytest.raises(error):
        list(WebDepot().read(f"{web.url}/f"))


def test_redirects_are_limited_and_stay_on_the_web(web):
    web.redirects["/round"] = f"{web.url}/round"
    with pytest.raises(DataRefused, match="more than 5 times"):
        WebDepot().look(f"{web.url}/round")
    web.redirects["/file"] = "file:///etc/passwd"
    with pytest.raises(DataRefused, match="no http or https address"):
        WebDepot().look(f"{web.url}/file")


def test_a_connection_that_breaks_is_noticed(web):
    web.content["/f"], web.cut_after = b"x" * 100_000, [50_000]
    with pytest.raises(DataAway, match="broke off"):
        list(WebDepot().read(f"{web.url}/f"))


def test_sizes_are_capped(web):
    web.content["/f"] = b"x" * 1000
    with pytest.raises(DataRefused, match="999 are allowed"):
        WebDepot(largest=999).look(f"{web.url}/f")


def test_private_addresses_are_refused_where_they_may_not_be(web):
    web.content["/f"] = b"x"
    url = f"{web.url}/f"
    with pytest.raises(DataRefused, match="TRAINYARD_ALLOW_PRIVATE_ADDRESSES"):
        WebDepot(private=False).look(url)
    assert WebDepot(private=True).look(url).size == 1


def test_the_operators_mirror_may_be_private_and_a_users_may_not(web):
    web.content["/m/f"] = b"x"
    said = {"TRAINYARD_URL_MAP": f'{{"https://data.example/": "{web.url}/m/"}}'}
    url = "https://data.example/f"
    assert web_depot({}, private=False, operators=said).look(url).size == 1
    with pytest.raises(DataRefused, match="private address"):
        web_depot(said, private=False).look(url)
    assert web_depot(said, private=True).look(url).path == url


def test_a_map_that_is_no_json_is_told():
    with pytest.raises(InvalidRequest, match="TRAINYARD_URL_MAP is not JSON"):
        web_depot({"TRAINYARD_URL_MAP": "a=b"}, private=True)


@pytest.mark.parametrize("address", ["127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "fd00::1", "::ffff:10.0.0.1"])
def test_what_is_private(address):
    with pytest.raises(DataRefused):
        refuse_private(address, "host")


def test_what_is_public():
    refuse_private("93.184.216.34", "host")


def test_a_server_that_is_not_there():
    with pytest.raises(DataAway, match="does not answer"):
        WebDepot().look("http://127.0.0.1:9/f")


def test_a_name_that_begins_like_a_mirrors_is_another_server(web):
    web.content["/f"] = b"x"
    mirror, port = web.url.rpartition(":")[::2]
    users = {"TRAINYARD_URL_MAP": f'{{"https://data.example/": "{web.url}/"}}'}
    operators = {"TRAINYARD_URL_MAP": f'{{"https://other.example/": "{mirror}:{port[:-1]}"}}'}
    with pytest.raises(DataRefused, match="private address"):
        web_depot(users, private=False, operators=operators).look("https://data.example/f")
