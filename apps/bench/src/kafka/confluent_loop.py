"""The same job on confluent-kafka (librdkafka): a transaction a page, its records and where to go on."""

import http.client
import json
import os
import resource
import sys
import threading
from urllib.parse import urlencode, urlsplit

from confluent_kafka import Producer

USER = "@alpha"
CRAWL = "followers.requests-0-0"


def tell_usage():
    for _ in sys.stdin:
        used = resource.getrusage(resource.RUSAGE_SELF)
        cpu_ms = (used.ru_utime + used.ru_stime) * 1000
        print(json.dumps({"cpuMs": cpu_ms, "peakBytes": used.ru_maxrss * 1024}), flush=True)
    # The parent of this process is gone, or asks no more.
    os._exit(1)


def compact(value):
    return json.dumps(value, separators=(",", ":"))


def check(error, _message):
    if error is not None:
        raise RuntimeError(str(error))


def main():
    job = json.loads(sys.argv[1])
    topic = job["topic"]
    # Its queue has to hold a page.
    settings = {
        "bootstrap.servers": ",".join(job["brokers"]),
        "transactional.id": "confluent",
        "compression.type": job["codec"],
        "message.max.bytes": 8_000_000,
        "linger.ms": 5,
    }
    if job["codec"] != "none":
        settings["compression.level"] = 1
    producer = Producer(settings)
    producer.init_transactions()
    service = http.client.HTTPConnection(urlsplit(job["origin"]).netloc)
    threading.Thread(target=tell_usage, daemon=True).start()

    cursor, page = "-1", 1
    while cursor != "0":
        query = urlencode({"screen_name": "alpha", "cursor": cursor, "count": "5000", "stringify_ids": "true"})
        service.request("GET", f"/1.1/followers/ids.json?{query}", headers={"authorization": "Bearer token"})
        answer = json.loads(service.getresponse().read())
        next_cursor = answer["next_cursor_str"]
        producer.begin_transaction()
        if job["shape"] == "pages":
            whole = {
                "user": USER,
                "crawl": CRAWL,
                "page": page,
                "cursor": cursor,
                "nextCursor": next_cursor,
                "previousCursor": answer["previous_cursor_str"],
                "ids": answer["ids"],
            }
            producer.produce(topic, compact(whole), USER, on_delivery=check)
        else:
            for follower in answer["ids"]:
                one = {"user": USER, "crawl": CRAWL, "page": page, "id": follower}
                producer.produce(topic, compact(one), USER, on_delivery=check)
        producer.produce("confluent.state", compact({"cursor": next_cursor, "page": page + 1}), CRAWL, on_delivery=check)
        producer.commit_transaction()
        cursor, page = next_cursor, page + 1


main()
