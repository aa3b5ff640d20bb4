"""Headgate's job with confluent-kafka (librdkafka): one transaction per page with its records and the next cursor, the same to the byte."""

import http.client
import json
import sys
from urllib.parse import urlencode, urlsplit

from confluent_kafka import Producer

USER = "@alpha"
CRAWL = "followers.requests-0-0"

job = json.loads(sys.argv[1])
topic = job["topic"]
producer = Producer(
    {
        "bootstrap.servers": ",".join(job["brokers"]),
        "transactional.id": "exactly-once",
        # The queue must have space for a page.
        "message.max.bytes": 8_000_000,
        "linger.ms": 5,
    }
)
producer.init_transactions()
service = http.client.HTTPConnection(urlsplit(job["origin"]).netloc)


def compact(value):
    return json.dumps(value, separators=(",", ":"))


def check(error, _message):
    if error is not None:
        sys.exit(f"not delivered: {error}")


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
    producer.produce("peer.state", compact({"cursor": next_cursor, "page": page + 1}), CRAWL, on_delivery=check)
    producer.commit_transaction()
    cursor, page = next_cursor, page + 1
