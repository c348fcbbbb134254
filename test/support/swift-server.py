"""OpenStack Swift with its S3 interface in one process, for tests.

Usage: swift-server.py DIRECTORY [PORT] [--object-ring]   Serves what the directory holds, at the port or at a free one (0). Prints the port of the S3 interface. Access key test:tester, secret testing.

Proxy, account, container and object server share an event loop. A ring of one device is written directly, and what
Swift would keep in memcached is kept here. With --object-ring there is no object server in this process: they are
those of the file etc/object.ring.gz in the directory. An object server that hangs is waited for by 3 s, not
10 s, and one that failed is asked again after 2 s, not 60 s: the tests strike another one by then.
"""

import eventlet

eventlet.monkey_patch()

import array  # noqa: E402
import os  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402

from eventlet import listen, wsgi  # noqa: E402
from swift.common import storage_policy, utils  # noqa: E402
from swift.common.middleware import memcache  # noqa: E402
from swift.common.ring import RingData  # noqa: E402
from swift.common.wsgi import SwiftHttpProtocol, loadapp  # noqa: E402

has_objects = "--object-ring" not in sys.argv
words = [word for word in sys.argv[1:] if word != "--object-ring"]
KINDS = ("object", "container", "account") if has_objects else ("container", "account")
root = words[0]
settings = os.path.join(root, "etc")
os.makedirs(settings, exist_ok=True)
os.makedirs(os.path.join(root, "node", "disk"), exist_ok=True)


def write(name, text):
    with open(os.path.join(settings, name), "w", encoding="utf-8") as file:
        file.write(text)


class Cache:
    """The part of a memcached client that Swift calls."""

    def __init__(self):
        self.values = {}

    def get(self, key, raise_on_error=False):
        value, end = self.values.get(key, (None, 0))
        return value if not end or end > time.time() else None

    def set(self, key, value, serialize=True, time=0, min_compress_len=0, raise_on_error=False):  # noqa: A002
        self.values[key] = (value, time and globals()["time"].time() + time)

    def incr(self, key, delta=1, time=0):  # noqa: A002
        value = (self.get(key) or 0) + int(delta)
        self.set(key, value, time=time)
        return value

    def decr(self, key, delta=1, time=0):  # noqa: A002
        return self.incr(key, -delta, time)

    def delete(self, key, server_key=None):
        self.values.pop(key, None)

    def set_multi(self, mapping, server_key, serialize=True, time=0, min_compress_len=0):  # noqa: A002
        for key, value in mapping.items():
            self.set(key, value, time=time)

    def get_multi(self, keys, server_key):
        return [self.get(key) for key in keys]


CACHE = Cache()


def with_cache(self, env, start):
    env["swift.cache"] = CACHE
    return self.app(env, start)


memcache.MemcacheMiddleware.__init__ = lambda self, app, conf: setattr(self, "app", app)
memcache.MemcacheMiddleware.__call__ = with_cache


class Silent:
    """A log that nobody reads, but for exceptions."""

    def write(self, message):
        pass

    def info(self, *message):
        pass

    debug = info

    def exception(self, *message):
        print(message, file=sys.stderr)


def serve(kind, socket):
    app = loadapp(os.path.join(settings, f"{kind}.conf"), global_conf={"log_name": kind})
    pool = eventlet.GreenPool(256)
    eventlet.spawn(
        wsgi.server, socket, app, Silent(), protocol=SwiftHttpProtocol, log_output=False, custom_pool=pool
    )


write(
    "swift.conf",
    "[swift-hash]\nswift_hash_path_suffix = test\n[storage-policy:0]\nname = Policy-0\ndefault = yes\n",
)
utils.set_swift_dir(settings)
storage_policy.reload_storage_policies()
sockets = {kind: listen(("127.0.0.1", 0)) for kind in KINDS}
for kind, socket in sockets.items():
    port = socket.getsockname()[1]
    device = {"id": 0, "region": 1, "zone": 1, "device": "disk", "weight": 1.0, "meta": ""}
    device.update(ip="127.0.0.1", port=port, replication_ip="127.0.0.1", replication_port=port)
    RingData([array.array("H", [0] * 16)], [device], 28).save(os.path.join(settings, f"{kind}.ring.gz"))
    write(
        f"{kind}.conf",
        f"[DEFAULT]\nswift_dir = {settings}\ndevices = {root}/node\nmount_check = false\n"
        f"[pipeline:main]\npipeline = {kind}-server\n[app:{kind}-server]\nuse = egg:swift#{kind}\n",
    )
write(
    "proxy.conf",
    f"""[DEFAULT]
swift_dir = {settings}
[pipeline:main]
pipeline = catch_errors cache s3api tempauth slo proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
node_timeout = {10 if has_objects else 3}
error_suppression_interval = {60 if has_objects else 2}
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:cache]
use = egg:swift#memcache
[filter:s3api]
use = egg:swift#s3api
location = us-east-1
[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = testing .admin
[filter:slo]
use = egg:swift#slo
""",
)
for kind, socket in sockets.items():
    serve(kind, socket)
front = listen(("127.0.0.1", int(words[1]) if len(words) > 1 else 0))
serve("proxy", front)
print(front.getsockname()[1], flush=True)
while True:
    eventlet.sleep(3600)
